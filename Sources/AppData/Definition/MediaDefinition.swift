/// The app's folder of photos or attachments.
public struct MediaDefinition: Sendable, Equatable {
    /// The folder's path relative to the database's folder.
    public let folder: String

    /// How the files of records are called in archives.
    public let archiveNaming: ArchiveNaming

    /// Whether snapshots show the files by `StorageKey`, too.
    public let hasStorageView: Bool

    public init(folder: String, archiveNaming: ArchiveNaming = .plain, hasStorageView: Bool = false) {
        self.folder = folder
        self.hasStorageView = hasStorageView
        self.archiveNaming = archiveNaming
    }
}
