import BackupRepository
import SystemIO

/// A source that a new store will continue. The source's document is written only with the store's first backup or restore, not when the store is created: an
/// unfinished or unused store must not take the source from the one that makes its backups. This also allows adopting a repository on a read-only disk.
struct SourceAdoption: Sendable, Equatable {
    private static let unknownText = "unknown"

    /// The store that made the source's backups when it was adopted; `nil` if the repository did not record it.
    private let storeID: String?

    init(of document: SourceDocument?) { self.init(document?.storeID ?? Self.unknownText) }

    /// - Parameter text: the form in the store's identity, or an ID. Others can write to the repository: an invalid store ID counts as none.
    init(_ text: String) { storeID = RandomToken.isToken(text.utf8) ? text : nil }

    var text: String { storeID ?? Self.unknownText }

    /// Whether the source still belongs to the store that it was adopted from. If not, a third one has claimed it meanwhile.
    func allowsClaiming(_ document: SourceDocument) -> Bool { storeID == nil || storeID == document.storeID }

    /// Whether it was adopted from this document's store.
    func isOf(_ document: SourceDocument) -> Bool { storeID == document.storeID }
}
