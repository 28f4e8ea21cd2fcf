import AppData
import BackupCore
import BackupRepository
import Glibc
import Restore
import SystemIO

/// SQLite databases among the media files of one folder that have a log or journal beside them, judged by name. An app may be writing to them; copied file by
/// file they would be from different moments.
///
/// Each listed name is stored either alone or with one database. An entry that is not a file, or not media, neither has a log nor is one: other files have
/// such names as well, such as `trip-journal` beside the folder `trip`.
struct MediaDatabases {
    private var companions: Set<FileName> = []
    private var databases: Set<FileName> = []
    /// Names that look like a log but are stored alone.
    private var others: Set<FileName> = []
    private let amongMedia: DatabaseAmongMedia

    init(among names: [FileName], _ amongMedia: DatabaseAmongMedia, in folder: borrowing DirectoryReader) {
        self.amongMedia = amongMedia
        others = Set(names.lazy.filter { DatabaseLogs.database(of: $0) != nil })
        guard !others.isEmpty else { return }
        let units = DatabaseUnits(Set(names.map(\.bytes))) { name in
            let name = FileName(bytes: name)
            return !amongMedia.hides(name) && Self.isRegular(name, in: folder)
        }
        for (database, logs) in units.companions where logs.contains(where: DatabaseLogs.isLog) {
            databases.insert(FileName(bytes: database))
            companions.formUnion(logs.map { FileName(bytes: $0) })
        }
        others.subtract(companions)
    }

    /// Whether the file has a log.
    func hasLog(_ name: FileName) -> Bool { databases.contains(name) }

    /// Whether the file belongs to one that has a log, and is stored with it.
    func isCompanion(_ name: FileName) -> Bool { companions.contains(name) }

    /// Whether a file that had nothing beside it has a log by now.
    func hasNewLog(_ name: FileName, in folder: borrowing DirectoryReader) -> Bool {
        for log in unit(name).dropFirst() where DatabaseLogs.isLog(log.bytes) && Self.isRegular(log, in: folder) { return true }
        return false
    }

    /// The database's name first, then the names of all possible companions that are stored with it, listed or not.
    func unit(_ name: FileName) -> [FileName] {
        [name] + DatabaseLogs.names(of: name).filter { !others.contains($0) && !amongMedia.hides($0) }
    }

    /// Whether a file is an SQLite database or may become one: a new one has 0 bytes until its first commit. An unreadable file is not.
    static func mayBeDatabase(_ name: FileName, in folder: borrowing DirectoryReader) -> Bool {
        // A pipe must not be opened, and a link has no log.
        guard isRegular(name, in: folder), let file = try? SharedFile(folder.openFile(name)) else { return false }
        guard let start = try? file.bytes(at: 0, upTo: SQLiteHeader.magic.count) else { return false }
        return start.isEmpty || start == SQLiteHeader.magic
    }

    /// Whether a program uses it now. Where locks cannot be queried the answer is no: the database is then watched for changes.
    static func isInUse(_ name: FileName, in folder: borrowing DirectoryReader) -> Bool {
        guard let file = try? folder.openFile(name) else { return false }
        return (try? DatabaseFile.isLocked(file)) ?? false
    }

    /// Copies it through SQLite.
    /// - Parameter destination: must not exist; it does not exist after a failure either.
    /// - Returns: false if it cannot be copied without a change, or was changed meanwhile.
    /// - Throws: `busy` when another program keeps it locked; `damagedContent`, `readOnly`, `accessDenied`, … if SQLite cannot read it without changing it;
    ///   `noSpace`.
    static func copy(
        _ name: FileName, in folder: borrowing DirectoryReader, to destination: String
    ) throws(BackupError) -> Bool {
        // SQLite cannot take a path that is not UTF-8.
        guard let text = String(validating: name.bytes, as: UTF8.self) else { return false }
        let before = try folder.status(name)
        // As root, SQLite would change the owner of the index to the database's owner.
        let index = try folder.statusIfPresent(Self.name(name, "-shm"))
        guard index.map({ $0.owner == before.owner && $0.group == before.group }) ?? true else { return false }
        try DatabaseFile.copy("/proc/self/fd/\(folder.descriptor.rawValue)/\(text)", to: destination)
        // SQLite's lock protects a database without a write-ahead log from changes, unless this process closed the file elsewhere: that drops the lock.
        if (try? folder.status(Self.name(name, "-wal"))) != nil { return true }
        if try folder.statusIfPresent(name) == before { return true }
        try FileSystem.removeFile(destination)
        return false
    }

    private static func name(_ name: FileName, _ suffix: String) -> FileName { FileName(bytes: name.bytes + suffix.utf8) }

    private static func isRegular(_ name: FileName, in folder: borrowing DirectoryReader) -> Bool {
        (try? folder.status(name).kind) == .regular
    }
}
