import BackupCore
import BackupRepository
import SystemIO

/// What a store remembers about itself and its repository, in a separate file that users do not edit: which backups are its own,
/// and which repository to expect. A party with write access to the repository must not be able to turn off its encryption or to
/// replace it with another one.
struct StoreIdentity: Sendable, Equatable {
    private static let magic = "backupfs-store-identity"
    private static let formatVersion = "1"
    private static let byteCountLimit = 64 << 10

    /// A random ID of this store.
    var storeID: String
    /// The line of backups that this store makes.
    var source: SourceID
    /// Whether backups of this app without a source count as this store's: older programs made them.
    var ownsUnmarked: Bool
    /// Whether the store has adopted a source and no backup or restore has been requested since: until then nothing happens
    /// automatically.
    var isQuiet: Bool
    /// A source that the store has adopted but not yet claimed.
    var adoption: SourceAdoption?
    /// The line that this store has left for its own, until a backup has reported that.
    var leftSource: SourceID?
    /// The repository's ID, whether it is encrypted, and its path in the settings at that time.
    var repositoryID: String
    var isEncrypted: Bool
    var repositoryPath: String

    init(
        source: SourceID = .random(), ownsUnmarked: Bool, isQuiet: Bool = false, adoption: SourceAdoption? = nil,
        repository: RepositoryFacts, repositoryPath: String
    ) {
        storeID = RandomToken.make()
        self.source = source
        self.ownsUnmarked = ownsUnmarked
        self.isQuiet = isQuiet
        self.adoption = adoption
        repositoryID = repository.id
        isEncrypted = repository.isEncrypted
        self.repositoryPath = repositoryPath
    }

    /// What the store expects of its repository, and of each copy of it.
    var repository: RepositoryFacts { RepositoryFacts(id: repositoryID, isEncrypted: isEncrypted) }

    var encoded: [UInt8] {
        var record = KeyValueRecord(magic: Self.magic)
        record.append("format", Self.formatVersion)
        record.append("store", storeID)
        record.append("source", source)
        record.append("owns-unmarked", ownsUnmarked)
        record.append("quiet", isQuiet)
        record.append("repository", repositoryID)
        record.append("encrypted", isEncrypted)
        record.append("repository-path", repositoryPath)
        record.append("adopted-from", adoption?.text)
        record.append("left-source", leftSource)
        return record.encoded
    }

    /// - Throws: `notFound`; `unsupportedVersion`; `invalidContent` when it is damaged.
    static func read(_ path: String) throws(BackupError) -> StoreIdentity {
        try StoreIdentity(decoding: FileSystem.readFile(path, limitBytes: byteCountLimit), path)
    }

    /// - Parameter path: for the error.
    init(decoding bytes: [UInt8], _ path: String) throws(BackupError) {
        let record = KeyValueRecord(decoding: bytes, magic: Self.magic)
        let refused: [KeyValueRecord.Flaw] = [.foreign, .noPair, .noSpace]
        guard !record.flaws.contains(where: refused.contains), let format = record["format"] else { throw Self.damaged(path) }
        guard format == Self.formatVersion else {
            throw BackupError(
                .unsupportedVersion,
                "the store's identity has format version \(MessageText.shortened(format)); this program reads \(Self.formatVersion)",
                path: path, remedy: "Use a newer backupfs.")
        }
        guard let storeID = record["store"], let source = record["source"].flatMap({ SourceID(hexadecimal: $0) }),
            let ownsUnmarked = record.flag("owns-unmarked"), let isQuiet = record.flag("quiet"),
            let repositoryID = record["repository"], let isEncrypted = record.flag("encrypted"),
            let repositoryPath = record["repository-path"]
        else { throw Self.damaged(path) }
        self.storeID = storeID
        self.source = source
        self.ownsUnmarked = ownsUnmarked
        self.isQuiet = isQuiet
        adoption = record["adopted-from"].map { SourceAdoption($0) }
        leftSource = record["left-source"].flatMap { SourceID(hexadecimal: $0) }
        self.repositoryID = repositoryID
        self.isEncrypted = isEncrypted
        self.repositoryPath = repositoryPath
    }

    private static func damaged(_ path: String) -> BackupError {
        BackupError(
            .invalidContent, "the store's identity is damaged", path: path,
            remedy:
                "Move this file away and run `backupfs status`: the store goes on with its backups if the repository knows them as its own, else it begins a new line. All backups stay."
        )
    }

    /// - Throws: `notPermitted` when the repository is not the one that the store was created with.
    func check(_ repository: RepositoryFacts, at path: String) throws(BackupError) {
        guard repository.id == repositoryID else {
            throw BackupError(
                .notPermitted, "this is not the repository that the store was made with", path: path,
                remedy:
                    "Is the right disk mounted? To back up to this repository, make a new store with: backupfs init --repository")
        }
        guard repository.isEncrypted == isEncrypted else {
            throw BackupError(
                .notPermitted,
                isEncrypted
                    ? "the repository was encrypted, and its config now says that it is not"
                    : "the repository was not encrypted, and its config now says that it is",
                path: path,
                remedy: "Its config was changed by another program. Copy it back from another copy of the repository.")
        }
    }
}

/// A source that a new store will continue. The source's document is written only with the store's first backup or restore, not
/// when the store is created: an unfinished or unused store must not take the source from the one that makes its backups. This
/// also allows adopting a repository on a read-only disk.
struct SourceAdoption: Sendable, Equatable {
    private static let unknownText = "unknown"

    /// The store that made the source's backups when it was adopted; `nil` if the repository did not record it.
    private let storeID: String?

    init(of document: SourceDocument?) { self.init(document?.storeID ?? Self.unknownText) }

    /// - Parameter text: the form in the store's identity, or an ID. Others can write to the repository: an invalid store ID
    ///   counts as none.
    init(_ text: String) { storeID = RandomToken.isToken(text.utf8) ? text : nil }

    var text: String { storeID ?? Self.unknownText }

    /// Whether the source still belongs to the store that it was adopted from. If not, a third one has claimed it meanwhile.
    func allowsClaiming(_ document: SourceDocument) -> Bool { storeID == nil || storeID == document.storeID }

    /// Whether it was adopted from this document's store.
    func isOf(_ document: SourceDocument) -> Bool { storeID == document.storeID }
}
