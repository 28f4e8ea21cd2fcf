/// The app's folder of photos or attachments.
public struct MediaDefinition: Sendable, Equatable {
    /// The folder's path relative to the database's folder.
    public let folder: String

    /// The naming of records' files in archives.
    public let archiveNaming: ArchiveNaming

    /// Whether snapshots also show the files by `StorageKey`.
    public let hasStorageView: Bool

    public init(folder: String, archiveNaming: ArchiveNaming = .plain, hasStorageView: Bool = false) {
        self.folder = folder
        self.hasStorageView = hasStorageView
        self.archiveNaming = archiveNaming
    }
}
