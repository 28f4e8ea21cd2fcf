import BackupCore
import Glibc
import SystemIO

/// The names of the files that SQLite keeps beside a database. They form a unit with the database: beside another database, or
/// another state of it, a log or journal changes what is read.
public enum DatabaseLogs {
    /// The suffixes of a write-ahead log and a rollback journal, appended to the database's name.
    public static let logSuffixes = ["-wal", "-journal"]
    /// The same, with the index of a log, which has no data of its own.
    public static let suffixes = logSuffixes + ["-shm"]
    /// The length of the longest one in bytes.
    public static let longestSuffixBytes = 8

    /// The name of the database to which a file of this name may belong.
    public static func database(ofFile name: [UInt8]) -> [UInt8]? {
        for suffix in suffixes where name.count > suffix.utf8.count && name.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) {
            return Array(name.dropLast(suffix.utf8.count))
        }
        return nil
    }

    /// Whether a file of this name may be a log or journal.
    public static func isLog(_ name: [UInt8]) -> Bool {
        logSuffixes.contains { name.count > $0.utf8.count && name.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }

    /// The names of files that may be beside a database of this name. Omits names that are too long for a file.
    public static func names(of database: FileName) -> [FileName] {
        suffixes.map { FileName(bytes: database.bytes + Array($0.utf8)) }.filter { $0.bytes.count <= FileName.byteCountLimit }
    }

    /// The database whose log the file would be; `nil` when the name is not that of a log.
    public static func database(of name: FileName) -> FileName? { database(ofFile: name.bytes).map { FileName(bytes: $0) } }
}

/// Groups the files of a folder into databases and the files that SQLite keeps beside them.
public struct DatabaseUnits {
    /// For each database, the files beside it.
    public private(set) var companions: [[UInt8]: [[UInt8]]] = [:]
    private var databases: [[UInt8]: [UInt8]] = [:]

    /// - Parameter names: names in a folder, or paths.
    public init(_ names: Set<[UInt8]>) {
        for name in names {
            // A log belongs to only one file, even if its own name has a log.
            guard let database = DatabaseLogs.database(ofFile: name), names.contains(database),
                DatabaseLogs.database(ofFile: database).map(names.contains) != true
            else { continue }
            databases[name] = database
            companions[database, default: []].append(name)
        }
    }

    /// - Parameters:
    ///   - names: names of a folder's entries, of any kind.
    ///   - isFile: called for candidates. A folder or a link neither has a log nor is one.
    public init(_ names: Set<[UInt8]>, isFile: ([UInt8]) -> Bool) {
        var files: Set<[UInt8]> = []
        for name in names {
            guard let database = DatabaseLogs.database(ofFile: name), names.contains(database) else { continue }
            for file in [name, database] where isFile(file) { files.insert(file) }
        }
        self.init(files)
    }

    /// The database that a log belongs to; `nil` for other files.
    public func database(of name: [UInt8]) -> [UInt8]? { databases[name] }
}

/// A log or journal with data whose database is missing or an empty file. It may be all that is left of the data, and SQLite
/// deletes it as soon as it opens the empty database beside it, even for reading.
enum OrphanedLog {
    /// The first log or journal beside a database that is not empty.
    /// - Parameter realPath: of the database, without links
    static func path(ofDatabase realPath: String) throws(BackupError) -> String? {
        for suffix in DatabaseLogs.logSuffixes {
            if let log = try FileSystem.look(realPath + suffix), log.size > 0 { return realPath + suffix }
        }
        return nil
    }

    /// Must be called before SQLite opens the app's database in any way.
    /// - Throws: `damagedContent` for an empty database with a log.
    static func requireNone(ofDatabase path: String) throws(BackupError) {
        guard let status = try FileSystem.lookBehindLinks(path), status.kind == .regular, status.size == 0,
            let log = try Self.path(ofDatabase: DatabaseFile.realPath(path))
        else { return }
        throw BackupError(
            .damagedContent,
            "the database \(MessageText.shortened(FileSystem.lastComponent(path))) is an empty file, and a log with data is beside it",
            path: log,
            remedy:
                "The log may hold data that no backup has, and would be deleted if the empty database were opened. Put the database that it belongs to back beside it, or move the log to a safe place, and try again."
        )
    }

    /// - Throws: `alreadyExists` when a missing or empty database has left a log.
    static func requireNone(ofLostDatabase realPath: String) throws(BackupError) {
        guard let log = try Self.path(ofDatabase: realPath) else { return }
        throw error(log)
    }

    static func error(_ log: String) -> BackupError {
        BackupError(
            .alreadyExists, "the database does not exist, but its log does", path: log,
            remedy: "It may hold data that no backup has: move it to a safe place, and restore again.")
    }
}

/// The file that a rollback journal names after a transaction over several databases: SQLite lists all their journals in it (a
/// super-journal). A program that rolls the journal back deletes the named file without checking what it is.
enum SuperJournal {
    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    /// The end of a journal that names a file: the name's length and checksum, and the magic.
    private static let trailerByteCount: UInt64 = 16
    /// SQLite accepts no longer names.
    private static let nameLimitBytes: UInt32 = 512
    /// More than the names of the maximum number of databases that SQLite can attach.
    private static let listLimitBytes = 1 << 20

    /// Must be called before SQLite may write to a database, which rolls back a journal beside it.
    /// - Throws: `notPermitted` when SQLite would delete a file that does not list the journal.
    static func requireOwn(ofDatabase path: String) throws(BackupError) {
        try requireOwn(journal: DatabaseFile.realPath(path) + "-journal")
    }

    private static func requireOwn(journal: String) throws(BackupError) {
        guard let status = try FileSystem.look(journal), status.kind == .regular, status.size > 0 else { return }
        // SQLite does not lock journals: closing it again drops no lock of this process.
        let file = try SharedFile(path: journal)
        guard let name = try name(in: file) else { return }
        // The target of a path that is not UTF-8 cannot be checked.
        if let path = String(validating: name, as: UTF8.self) {
            guard let named = try FileSystem.look(path) else { return }
            if named.kind == .regular, try lists(path, FileIdentity(status)) { return }
        }
        throw BackupError(
            .notPermitted,
            "SQLite would delete a file that the journal of the database names, and that is none of its own: \(MessageText.name(name))",
            path: journal,
            remedy: "Copy that file to a safe place, open the app once and close it, and try again.")
    }

    /// The name at the end of a journal, as SQLite reads it.
    /// - Returns: `nil` for a journal that names nothing, or that will not be rolled back.
    private static func name(in journal: SharedFile) throws(BackupError) -> [UInt8]? {
        guard journal.size > trailerByteCount, let first = try journal.bytes(at: 0, upTo: 1).first, first != 0 else { return nil }
        let trailer = try journal.bytes(at: journal.size - trailerByteCount, upTo: Int(trailerByteCount))
        guard trailer.count == trailerByteCount, trailer[8...].elementsEqual(journalMagic) else { return nil }
        let length = number(trailer[0..<4])
        guard (1...nameLimitBytes).contains(length), UInt64(length) <= journal.size - trailerByteCount else { return nil }
        let bytes = try journal.bytes(at: journal.size - trailerByteCount - UInt64(length), upTo: Int(length))
        // SQLite adds up `char` values, which are signed on some processors and unsigned on others.
        let plainSum = bytes.reduce(0 as UInt32) { $0 &+ UInt32($1) }
        let signedSum = bytes.reduce(0 as UInt32) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
        guard [plainSum, signedSum].contains(number(trailer[4..<8])) else { return nil }
        return Array(bytes.prefix { $0 != 0 })
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Whether a file lists a journal: zero-terminated names.
    private static func lists(_ path: String, _ journal: FileIdentity) throws(BackupError) -> Bool {
        let file = try SharedFile(path: path)
        guard file.size <= UInt64(listLimitBytes) else { return false }
        for name in try file.bytes(at: 0, upTo: listLimitBytes).split(separator: 0) {
            guard let text = String(validating: name, as: UTF8.self) else { continue }
            if (try? FileSystem.identityIfPresent(text)) == journal { return true }
        }
        return false
    }
}
