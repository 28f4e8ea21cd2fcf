import AppData
import BackupCore
import Glibc
import SystemIO

/// What is handed in for a restore: bytes, wherever they lie.
public struct ImportSource: Sendable {
    /// What the person calls it.
    public let name: String
    public let bytes: any ByteSource
    public let sizeBytes: UInt64
    public let origin: ImportOrigin
    /// Whether it is the state that a restore has saved: without other instructions it replaces everything, settings too.
    public let isSafetyBackup: Bool
    /// Whether the records are to be read from the archive's database: its export has not all of them as they were.
    public var prefersDatabase = false
    /// Of one of the store's own backups, or of an archive, an export or a database of one: the database of that backup.
    public var backupDatabase: StoredDatabase?
    /// Of one of the store's own backups, or of an archive of one: its media, with what no archive holds of them.
    public var storedMedia: StoredMedia?
    /// What is to be said of where it comes from.
    public var warning: Message?
    /// How many files the backup lacks, because they could not be read when it was made: its archive says nothing of them.
    public var unreadFileCount = 0
    /// Of one of the store's own backups, or of an archive or a file of one: when it was made. A database does not say it itself.
    public var backupTime: Timestamp?
    /// The layout of the backup's own archive (`SnapshotRecord.archiveLayout`); `nil` where it is not known what the bytes are.
    public let archiveLayout: ArchivePathMap?
    /// The file that the bytes are; `nil` for what the repository serves, of which there is no file.
    let filePath: String?

    /// - Parameter name: `nil` for the file's own.
    /// - Throws: `notFound`, `accessDenied`, …
    public init(file path: String, name: String? = nil, origin: ImportOrigin = .foreign) throws(BackupError) {
        let file = try SharedFile(path: path)
        self.name = name ?? FileSystem.lastComponent(path)
        bytes = file
        sizeBytes = file.size
        filePath = path
        isSafetyBackup = false
        archiveLayout = nil
        self.origin = origin
    }

    /// What the store's own repository serves: nothing of it is copied.
    public init(
        stored bytes: any ByteSource, sizeBytes: UInt64, name: String, isSafetyBackup: Bool = false,
        archiveLayout: ArchivePathMap? = nil
    ) {
        self.name = name
        self.bytes = bytes
        self.sizeBytes = sizeBytes
        filePath = nil
        self.isSafetyBackup = isSafetyBackup
        self.archiveLayout = archiveLayout
        origin = .ownRepository
    }

    private init(_ other: ImportSource, bytes: any ByteSource, origin: ImportOrigin, archiveLayout: ArchivePathMap?) {
        name = other.name
        self.bytes = bytes
        sizeBytes = other.sizeBytes
        filePath = other.filePath
        isSafetyBackup = other.isSafetyBackup
        prefersDatabase = other.prefersDatabase
        unreadFileCount = other.unreadFileCount
        backupTime = other.backupTime
        backupDatabase = other.backupDatabase
        storedMedia = other.storedMedia
        warning = other.warning
        self.archiveLayout = archiveLayout
        self.origin = origin
    }

    /// The same, believed to be of the store's own making.
    public var asOwn: ImportSource {
        ImportSource(self, bytes: bytes, origin: .ownRepository, archiveLayout: archiveLayout)
    }

    /// The same, known as an archive of one of the store's own backups.
    public func asOwn(archiveLayout: ArchivePathMap) -> ImportSource {
        ImportSource(self, bytes: bytes, origin: .ownRepository, archiveLayout: archiveLayout)
    }

    /// The same, read by way of something else.
    public func replacing(bytes: any ByteSource) -> ImportSource {
        ImportSource(self, bytes: bytes, origin: origin, archiveLayout: archiveLayout)
    }

    /// The path of a database with these bytes, and with what a log or a journal beside the file holds. It may lie in `folder`.
    func database(in folder: String) throws(BackupError) -> String {
        if let filePath, let whole = try LooseDatabase.copyWithLogs(filePath, in: folder) { return whole }
        return try file(in: folder)
    }

    /// The path of a file with these bytes, for who can read nothing else. It is written into `folder` if there is none.
    func file(in folder: String) throws(BackupError) -> String {
        if let filePath { return filePath }
        let path = "\(folder)/content"
        let copy = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try bytes.copy(sizeBytes, to: copy, named: name)
        return path
    }
}

/// The database of a backup, as the repository has it.
public struct StoredDatabase: Sendable {
    public typealias Content = (bytes: any ByteSource, sizeBytes: UInt64)
    private let find: @Sendable () throws(BackupError) -> Content?

    /// - Parameter find: finds it when it is needed; `nil` where the backup has none.
    public init(_ find: @escaping @Sendable () throws(BackupError) -> Content?) { self.find = find }

    /// - Returns: whether there is one.
    public func write(to path: String) throws(BackupError) -> Bool {
        guard let (bytes, sizeBytes) = try find() else { return false }
        try bytes.copy(sizeBytes, to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL), named: path)
        return true
    }
}
