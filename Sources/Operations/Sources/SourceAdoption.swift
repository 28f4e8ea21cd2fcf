import BackupRepository
import SystemIO

/// A source that a new store is to continue. The document of the source is written with the store's first backup or restore only, not when the store is
/// made: a store that is not finished, or never used, must not take the source away from the one that makes its backups, and a repository on a read-only
/// disk can be adopted, too.
struct SourceAdoption: Sendable, Equatable {
    private static let unknownText = "unknown"

    /// The store that made the source's backups when it was adopted; `nil` where the repository did not say.
    private let storeID: String?

    init(of document: SourceDocument?) { self.init(document?.storeID ?? Self.unknownText) }

    /// - Parameter text: as the store's identity has it, or an ID. Others can write to the repository: what is no ID of a store is none.
    init(_ text: String) { storeID = RandomToken.isToken(text.utf8) ? text : nil }

    var text: String { storeID ?? Self.unknownText }

    /// Whether the source is still that of the store that it was adopted from. If not, a third one has claimed it meanwhile.
    func allowsClaiming(_ document: SourceDocument) -> Bool { storeID == nil || storeID == document.storeID }

    /// Whether it was adopted from this document's store.
    func isOf(_ document: SourceDocument) -> Bool { storeID == document.storeID }
}
