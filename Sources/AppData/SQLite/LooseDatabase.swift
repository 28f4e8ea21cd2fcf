import BackupCore
import Glibc
import SQLite
import SystemIO

/// A database file anywhere, with the files that SQLite keeps beside it: a log with changes that are not in the file yet, or a
/// journal of a transaction that must be rolled back before the file is consistent. Both are read, and nothing there is changed.
public enum LooseDatabase {
    private static let attemptLimit = 3

    /// Merges a database and its log or journal into one file.
    /// - Parameter folder: a private folder of the caller. The copy is created in it, with the newest modification time of its
    ///   sources.
    /// - Returns: the path of the copy; `nil` for a database that has no such files and can be read directly.
    /// - Throws: `databaseInUse` when a program is changing it; `damagedContent` when it does not match its log or journal;
    ///   `notPermitted` when SQLite would delete a foreign file; `accessDenied`, `noSpace`, ….
    public static func copyWithLogs(_ path: String, in folder: String) throws(BackupError) -> String? {
        // SQLite looks beside the target of a link.
        let path = try FileSystem.realPath(path)
        let files = try unit(path)
        guard files.count > 1 else { return nil }
        let copy = "\(folder)/\(RandomToken.make()).sqlite"
        do throws(BackupError) {
            // A program that uses it continues meanwhile, and its locks are kept.
            if try !hasForeignIndex(path), try copyThroughSQLite(path, to: copy) {
                try setTime(of: files, copy)
                return copy
            }
            try SuperJournal.requireOwn(ofDatabase: path)
            try copyFiles(of: path, to: copy)
            try recover(copy)
            try setTime(of: files, copy)
            return copy
        } catch {
            guard error.code == .damagedContent else { throw error.at(path) }
            throw error.with(
                .damagedContent, "the database and the files beside it are not a complete database: \(error.message)", path: path,
                remedy: """
                    If the files with its name and -wal or -journal are not its own, restore a copy of the database alone, from another \
                    folder.
                    """, findings: [])
        }
    }

    /// The database, and a log or a journal that SQLite would read with it.
    private static func unit(_ path: String) throws(BackupError) -> [(suffix: String, status: FileStatus)] {
        guard let status = try FileSystem.look(path) else { return [] }
        var files = [("", status)]
        for suffix in DatabaseLogs.logSuffixes {
            guard let status = try FileSystem.look(path + suffix), status.kind == .regular, status.size > 0 else { continue }
            // A journal that is only kept has a zeroed header.
            if suffix == "-journal", try SharedFile(path: path + suffix).bytes(at: 0, upTo: 1) == [0] { continue }
            files.append((suffix, status))
        }
        return files
    }

    /// As root, SQLite would give the index of a log to the database's owner.
    private static func hasForeignIndex(_ path: String) throws(BackupError) -> Bool {
        guard let index = try FileSystem.look(path + "-shm"), let database = try FileSystem.look(path) else { return false }
        return index.owner != database.owner || index.group != database.group
    }

    /// - Returns: false when SQLite would have to change something there.
    private static func copyThroughSQLite(_ path: String, to copy: String) throws(BackupError) -> Bool {
        do throws(BackupError) {
            try DatabaseFile.copy(path, to: copy)
            return true
        } catch {
            guard error.code == .readOnly || error.code == .accessDenied else { throw error }
            return false
        }
    }

    /// The copies are of one instant if no file has changed by the end, and no program holds a lock.
    private static func copyFiles(of path: String, to copy: String) throws(BackupError) {
        for _ in 0..<attemptLimit {
            let files = try unit(path)
            // If locks cannot be queried, it only watches for changes.
            let isInUse = (try? DatabaseFile.isLocked(OwnedDescriptor.open(path, O_RDONLY))) ?? false
            for file in files where !isInUse {
                let source = try SharedFile(path: path + file.suffix)
                let target = try OwnedDescriptor.open(
                    copy + file.suffix, O_WRONLY | O_CREAT | O_TRUNC, permissions: 0o600)
                try source.copy(source.size, to: target, named: path + file.suffix)
            }
            let after = try unit(path)
            if !isInUse, files.map(\.suffix) == after.map(\.suffix), files.map(\.status) == after.map(\.status) { return }
            for suffix in [""] + DatabaseLogs.suffixes { try FileSystem.removeFile(copy + suffix) }
        }
        throw BackupError(
            .databaseInUse, "another program is changing the database", path: path,
            remedy: "Close the program that uses it, and try again.")
    }

    /// Makes SQLite roll back the journal, or move the log's content into the copy.
    private static func recover(_ copy: String) throws(BackupError) {
        let connection = try DatabaseConnection(copy, .readWrite, .app)
        defer { connection.close() }
        connection.refuseAttaching()
        try connection.execute("PRAGMA trusted_schema = OFF; PRAGMA mmap_size = 0; SELECT count(*) FROM sqlite_master")
        // Nothing to protect: the copy is discarded if anything fails.
        try connection.execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE")
        guard try unit(copy).count == 1 else { throw BackupError(.inputOutput, "the log could not be cleared", path: copy) }
    }

    /// The copy's time represents that of the data.
    private static func setTime(of files: [(suffix: String, status: FileStatus)], _ copy: String) throws(BackupError) {
        guard let newest = files.map(\.status.modificationTime).max() else { return }
        try OwnedDescriptor.open(copy, O_RDONLY).setModificationTime(newest)
    }
}

/// The header of a database file (SQLite's file format, section 1.3).
public struct SQLiteHeader: Sendable {
    /// Every database file begins with these bytes, unless it is empty.
    public static let magic: [UInt8] = Array("SQLite format 3\0".utf8)
    /// Length of the header.
    public static let byteCount = 100

    /// 512 to 65,536.
    public let pageSizeBytes: Int
    /// Number of pages in the file, as of its last change.
    public let pageCount: UInt32

    /// - Parameter start: the first bytes of the file, as many as available.
    /// - Returns: `nil` for a file that is not a database, or is shorter than the header.
    public init?(_ start: UnsafeRawBufferPointer) {
        guard start.count >= Self.byteCount, start.starts(with: Self.magic) else { return nil }
        let rawPageSize = Int(UInt16(bigEndian: start.loadUnaligned(fromByteOffset: 16, as: UInt16.self)))
        // 65,536 does not fit into the field.
        pageSizeBytes = rawPageSize == 1 ? 65_536 : max(512, rawPageSize)
        pageCount = UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 28, as: UInt32.self))
    }

    /// Reads the header of a file.
    /// - Returns: `nil` for a file that is not a database, or is shorter than the header.
    public init?(of file: some ByteSource) throws(BackupError) {
        let start = try file.bytes(at: 0, upTo: Self.byteCount)
        guard let header = start.withUnsafeBytes({ Self($0) }) else { return nil }
        self = header
    }
}
