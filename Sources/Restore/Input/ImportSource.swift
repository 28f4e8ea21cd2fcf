import AppData
import BackupCore
import Formats
import Glibc
import SystemIO

/// The input of a restore: bytes from any place.
public struct ImportSource: Sendable {
    /// The user's name for it.
    public let name: String
    /// Where the content is read from, piece by piece.
    public let bytes: any ByteSource
    /// Length of the content.
    public let sizeBytes: UInt64
    public let origin: ImportOrigin
    /// Whether it is a safety backup of a restore: without other instructions it replaces everything, including settings.
    public let isSafetyBackup: Bool
    /// Whether to read the records from the archive's database: its export does not have all of them unchanged.
    public var prefersDatabase = false
    /// For one of the store's own backups, or its archive, export or database: the database of that backup.
    public var backupDatabase: StoredDatabase?
    /// For one of the store's own backups, or its archive: its media, with the metadata that no archive contains.
    public var storedMedia: StoredMedia?
    /// A warning about its origin.
    public var warning: Message?
    /// The number of files missing from the backup, because they could not be read when it was created: its archive does not list
    /// them.
    public var unreadFileCount = 0
    /// For one of the store's own backups, or an archive or a file of one: its creation time. A database does not contain it.
    public var backupTime: Timestamp?
    /// For a file with some records of one collection, which are merged into the data by their keys.
    public var recordFile: RecordFile?
    /// The layout of the backup's own archive (`SnapshotRecord.archiveLayout`); `nil` when the origin of the bytes is unknown.
    public let archiveLayout: ArchivePathMap?
    /// The file with the bytes; `nil` for bytes that the repository serves, for which there is no file.
    let filePath: String?

    /// - Parameter name: `nil` for the file's own name
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

    /// A source served by the store's own repository: copies nothing.
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
        recordFile = other.recordFile
        self.archiveLayout = archiveLayout
        self.origin = origin
    }

    /// The same, trusted as created by this store.
    public var asOwn: ImportSource {
        ImportSource(self, bytes: bytes, origin: .ownRepository, archiveLayout: archiveLayout)
    }

    /// The same, known as an archive of one of the store's own backups.
    public func asOwn(archiveLayout: ArchivePathMap) -> ImportSource {
        ImportSource(self, bytes: bytes, origin: .ownRepository, archiveLayout: archiveLayout)
    }

    /// The same, with its bytes read through another source.
    public func replacing(bytes: any ByteSource) -> ImportSource {
        ImportSource(self, bytes: bytes, origin: origin, archiveLayout: archiveLayout)
    }

    /// The path of a database with these bytes and with the content of a log or a journal beside the file. May be in `folder`.
    func database(in folder: String) throws(BackupError) -> String {
        if let filePath, let whole = try LooseDatabase.copyWithLogs(filePath, in: folder) { return whole }
        return try file(in: folder)
    }

    /// The path of a file with these bytes, for callers that need a file. Written into `folder` if there is none.
    func file(in folder: String) throws(BackupError) -> String {
        if let filePath { return filePath }
        let path = "\(folder)/content"
        let copy = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        try bytes.copy(sizeBytes, to: copy, named: name)
        return path
    }
}

/// The database of a backup in the repository.
public struct StoredDatabase: Sendable {
    /// The bytes of a database file, and their number.
    public typealias Content = (bytes: any ByteSource, sizeBytes: UInt64)
    private let find: @Sendable () throws(BackupError) -> Content?

    /// - Parameter find: looks it up on demand; `nil` where the backup has none.
    public init(_ find: @escaping @Sendable () throws(BackupError) -> Content?) { self.find = find }

    /// - Returns: whether there is one.
    public func write(to path: String) throws(BackupError) -> Bool {
        guard let (bytes, sizeBytes) = try find() else { return false }
        try bytes.copy(sizeBytes, to: OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL), named: path)
        return true
    }
}

/// The origin of a file to restore.
public enum ImportOrigin: Sendable, Equatable {
    /// Untrusted: anyone may have created it.
    case foreign
    /// This program has just created it from a backup in the store's own repository, which verifies every byte.
    case ownRepository
}

/// The format of a dropped file, by its first bytes; its name means nothing.
public enum DroppedFormat: String, Sendable {
    case json
    case zip
    case tar
    case sqlite

    /// Compression formats that people use for archives, and the programs that unpack them.
    private static let compressions: [(magic: [UInt8], name: String, program: String)] = [
        ([0x1F, 0x8B], "gzip", "gunzip"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xz", "unxz"), (Array("BZh".utf8), "bzip2", "bunzip2"),
        ([0x28, 0xB5, 0x2F, 0xFD], "zstd", "unzstd"), ([0x37, 0x7A, 0xBC, 0xAF], "7-Zip", "7z x"),
    ]

    /// - Throws: `invalidContent` for anything else.
    static func detect(_ source: any ByteSource) throws(BackupError) -> DroppedFormat {
        let start = try source.bytes(at: 0, upTo: 512)[...]
        if start.starts(with: SQLiteHeader.magic) { return .sqlite }
        if start.starts(with: [0x50, 0x4B, 0x03, 0x04]) || start.starts(with: [0x50, 0x4B, 0x05, 0x06]) { return .zip }
        // Before JSON: a name in an archive may begin with any byte.
        if ArchiveReader.isTAR(start) { return .tar }
        let text = start.starts(with: [0xEF, 0xBB, 0xBF]) ? start.dropFirst(3) : start
        let first = text.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
        let compression = compressions.first { start.starts(with: $0.magic) }
        throw BackupError(
            .invalidContent, "Invalid file format. Please select a valid backup file.",
            remedy: compression.map { "Unpack it first: \($0.program) FILE" },
            findings: [
                start.isEmpty
                    ? "the file is empty"
                    : compression.map { "the file is compressed with \($0.name)" }
                        ?? "the file is neither JSON nor a ZIP or tar archive nor a SQLite database"
            ])
    }
}
