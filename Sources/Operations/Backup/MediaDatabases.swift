import AppData
import BackupCore
import BackupRepository
import Glibc
import Restore
import SystemIO

/// Stores a database among the media that has a log, as of one instant, without changing anything in the folder.
extension MediaBackup {
    /// A database in use is copied through SQLite, which merges its log into the copy. An idle one is stored unchanged with its
    /// log or journal: the app will treat them as it would the originals. That also covers a file that SQLite could only read
    /// after rolling back a journal, and one that is not a database.
    /// - Throws: `sourceUnreadable`; the repository's errors.
    func storeDatabase(_ name: FileName, _ databases: MediaDatabases, in task: MediaFolderTask) throws(BackupError) {
        let companions = databases.unit(name).filter(databases.isCompanion)
        do throws(BackupError) {
            for _ in 0..<MediaFile.attemptLimit {
                if MediaDatabases.isInUse(name, in: task.reader), let entry = try storeCopy(of: name, in: task) {
                    task.leaveOut(companions.count)
                    return task.add(entry)
                }
                if try storeAsFiles(name, databases, in: task) { return }
            }
            guard let entry = try storeCopy(of: name, in: task) else {
                throw BackupError(.sourceUnreadable, "changed again and again while it was read", path: task.path(of: name))
            }
            task.leaveOut(companions.count)
            task.add(entry)
        } catch {
            guard error.code == .sourceUnreadable else { throw error }
            for companion in companions { leaveOut(companion, error, in: task) }
            throw error
        }
    }

    /// - Returns: `nil` if SQLite cannot copy it now, for whatever reason.
    private func storeCopy(of name: FileName, in task: MediaFolderTask) throws(BackupError) -> TreeEntry? {
        let path = "\(workPath)/media-\(RandomToken.make()).sqlite"
        defer { try? FileSystem.removeFile(path) }
        let status: FileStatus
        do throws(BackupError) {
            status = try task.reader.status(name)
            guard try MediaDatabases.copy(name, in: task.reader, to: path) else { return nil }
        } catch {
            guard error.code != .interrupted, error.code != .noResources else { throw error }
            return nil
        }
        let copy = try SharedFile(path: path)
        let stored = try storeContent(of: copy, copy.size, earlier: task.earlierContent(name))
        // No source identity: the log may change alone, so an unchanged file would prove nothing. The copy has other bytes than
        // the file, so its hard links and holes do not apply.
        var kept: EntryMetadata?
        if let file = try? task.reader.openFile(name) { kept = metadata.of(file, status, path: task.path(of: name)) }
        return .file(
            name: name, mode: status.mode, modificationTime: status.modificationTime, stored: stored,
            metadata: .of(owner: kept?.owner, extendedAttributes: kept?.extendedAttributes ?? []))
    }

    /// Stores the database and its companions byte for byte. If none of them has changed by the end, they are from one instant,
    /// as if the machine had stopped then: the case that a log or journal is for.
    /// - Returns: false when a file has changed.
    private func storeAsFiles(
        _ database: FileName, _ databases: MediaDatabases, in task: MediaFolderTask
    ) throws(BackupError) -> Bool {
        let names = databases.unit(database)
        let before = try statuses(names, in: task)
        var entries: [TreeEntry] = []
        var problems: [(name: FileName, error: BackupError)] = []
        for (name, status) in zip(names, before) {
            guard let status else { continue }
            guard status.kind == .regular else {
                problems.append((name, BackupError(.sourceUnreadable, "is no longer a file", path: task.path(of: name))))
                continue
            }
            if let entry = unchanged(name, status, in: task) {
                entries.append(entry)
                noteUnchanged(status, in: task)
                continue
            }
            do throws(BackupError) {
                entries.append(try storeSmall(name, in: task))
            } catch {
                guard error.code == .sourceUnreadable else { throw error }
                problems.append((name, error))
            }
        }
        guard try statuses(names, in: task) == before else { return false }
        // The others appeared after the folder was listed.
        let listed = Set(names.filter { $0 == database || databases.isCompanion($0) })
        for entry in entries { task.add(entry, isListed: listed.contains(entry.name)) }
        for problem in problems { note(problem.error, of: problem.name, in: task) }
        task.leaveOut(listed.subtracting(entries.map(\.name)).count)
        // A database's log disappears with a commit. Any other file was deleted or moved, and may be back in its place.
        let gone = zip(names, before).filter { $0.1 == nil && listed.contains($0.0) }
        if !gone.isEmpty, before[0] == nil || !MediaDatabases.mayBeDatabase(database, in: task.reader) { task.trace.noteGone() }
        return true
    }

    private func statuses(_ names: [FileName], in task: MediaFolderTask) throws(BackupError) -> [FileStatus?] {
        var statuses: [FileStatus?] = []
        for name in names {
            statuses.append(
                try MediaFile.reading(task.path(of: name)) { () throws(BackupError) in try task.reader.statusIfPresent(name) })
        }
        return statuses
    }
}

/// SQLite databases among the media files of one folder that have a log or journal beside them, judged by name. An app may be
/// writing to them; copied file by file they would be from different moments.
///
/// Each listed name is stored either alone or with one database. An entry that is not a file, or not media, neither has a log nor
/// is one: other files have such names as well, such as `trip-journal` beside the folder `trip`.
struct MediaDatabases {
    private var companions: Set<FileName> = []
    private var databases: Set<FileName> = []
    /// Names that look like a log but are stored alone.
    private var others: Set<FileName> = []
    private let amongMedia: DatabaseAmongMedia

    init(among names: [FileName], _ amongMedia: DatabaseAmongMedia, in folder: DirectoryHandle) {
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
    func hasNewLog(_ name: FileName, in folder: DirectoryHandle) -> Bool {
        for log in unit(name).dropFirst() where DatabaseLogs.isLog(log.bytes) && Self.isRegular(log, in: folder) { return true }
        return false
    }

    /// The database's name first, then the names of all possible companions that are stored with it, listed or not.
    func unit(_ name: FileName) -> [FileName] {
        [name] + DatabaseLogs.names(of: name).filter { !others.contains($0) && !amongMedia.hides($0) }
    }

    /// Whether a file is an SQLite database or may become one: a new one has 0 bytes until its first commit. An unreadable file
    /// is not.
    static func mayBeDatabase(_ name: FileName, in folder: DirectoryHandle) -> Bool {
        // A pipe must not be opened, and a link has no log.
        guard isRegular(name, in: folder), let file = try? SharedFile(folder.openFile(name)) else { return false }
        guard let start = try? file.bytes(at: 0, upTo: SQLiteHeader.magic.count) else { return false }
        return start.isEmpty || start == SQLiteHeader.magic
    }

    /// Whether a program uses it now. Where locks cannot be queried the answer is no: the database is then watched for changes.
    static func isInUse(_ name: FileName, in folder: DirectoryHandle) -> Bool {
        guard let file = try? folder.openFile(name) else { return false }
        return (try? DatabaseFile.isLocked(file)) ?? false
    }

    /// Copies it through SQLite.
    /// - Parameter destination: must not exist; it does not exist after a failure either.
    /// - Returns: false if it cannot be copied without a change, or was changed meanwhile.
    /// - Throws: `busy` when another program keeps it locked; `damagedContent`, `readOnly`, `accessDenied`, … if SQLite cannot
    ///   read it without changing it; `noSpace`.
    static func copy(
        _ name: FileName, in folder: DirectoryHandle, to destination: String
    ) throws(BackupError) -> Bool {
        // SQLite cannot take a path that is not UTF-8.
        guard let text = String(validating: name.bytes, as: UTF8.self) else { return false }
        let before = try folder.status(name)
        // As root, SQLite would change the owner of the index to the database's owner.
        let index = try folder.statusIfPresent(Self.name(name, "-shm"))
        guard index.map({ $0.owner == before.owner && $0.group == before.group }) ?? true else { return false }
        try DatabaseFile.copy("/proc/self/fd/\(folder.descriptor.rawValue)/\(text)", to: destination)
        // SQLite's lock protects a database without a write-ahead log from changes, unless this process closed the file
        // elsewhere: that drops the lock.
        if (try? folder.status(Self.name(name, "-wal"))) != nil { return true }
        if try folder.statusIfPresent(name) == before { return true }
        try FileSystem.removeFile(destination)
        return false
    }

    private static func name(_ name: FileName, _ suffix: String) -> FileName { FileName(bytes: name.bytes + suffix.utf8) }

    private static func isRegular(_ name: FileName, in folder: DirectoryHandle) -> Bool {
        (try? folder.status(name).kind) == .regular
    }
}
