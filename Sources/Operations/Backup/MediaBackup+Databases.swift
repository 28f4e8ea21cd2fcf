import AppData
import BackupCore
import BackupRepository
import SystemIO

/// Stores a database among the media that has a log, as of one instant, without changing anything in the folder.
extension MediaBackup {
    /// A database in use is copied through SQLite, which merges its log into the copy. An idle one is stored unchanged with its log or journal: the app will
    /// treat them as it would the originals. That also covers a file that SQLite could only read after rolling back a journal, and one that is not a database.
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
        // No source identity: the log may change alone, so an unchanged file would prove nothing. The copy has other bytes than the file, so its hard links
        // and holes do not apply.
        var kept: EntryMetadata?
        if let file = try? task.reader.openFile(name) { kept = metadata.of(file, status, path: task.path(of: name)) }
        return .file(
            name: name, mode: status.mode, modificationTime: status.modificationTime, stored: stored,
            metadata: .of(owner: kept?.owner, extendedAttributes: kept?.extendedAttributes ?? []))
    }

    /// Stores the database and its companions byte for byte. If none of them has changed by the end, they are from one instant, as if the machine had stopped
    /// then: the case that a log or journal is for.
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
                problems.append((name, BackupError(.sourceUnreadable, "is no file any more", path: task.path(of: name))))
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
