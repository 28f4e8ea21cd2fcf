import BackupCore
import GRDBSQLite
import Glibc
import SystemIO

extension AppDatabase {
    /// Whether the app has lost it: it is not there, or it is the empty file that SQLite makes when a program looks for a database that is gone.
    /// - Throws: when that cannot be told: the path may be a link to a disk that is not mounted.
    public func isLost() throws(BackupError) -> Bool {
        guard let status = try FileSystem.lookBehindLinks(path) else { return true }
        guard status.kind == .regular, status.size == 0 else { return false }
        // What SQLite has not written into the database yet.
        return try OrphanedLog.path(ofDatabase: realPath()) == nil
    }

    /// - Throws: `alreadyExists` when a log of the lost database is there: it may hold all that is left of the data.
    public func requireNoLogOfLost() throws(BackupError) { try OrphanedLog.requireNone(ofLostDatabase: realPath()) }

    /// Whether a copy of a database could stand in the place of this one: it is whole, and has what the app's definition asks for.
    public func canBeRecreated(from copy: String) -> Bool {
        guard (try? DroppedDatabase.damage(ofCopy: copy)) == .some(nil) else { return false }
        return (try? AppDatabase(opening: copy, definition: definition)) != nil
    }

    /// Makes a lost database what a copy of it is: its tables, whether the definition names them or not, with indexes, views, triggers and version
    /// numbers. Durable when it returns; after an error or a crash the database is lost as before.
    /// - Parameters:
    ///   - copy: a database without a log that no other program has open.
    ///   - note: called first, with what a crash may leave beside the database.
    /// - Throws: `busy` when another program has made the database by then, of which no backup has anything, or still has the lost one open.
    public func recreate(
        from copy: String, noting note: (RecreationFiles) throws(BackupError) -> Void
    ) throws(BackupError) {
        let place = try LostPlace(realPath())
        guard let file = try FileSystem.lookBehindLinks(path) else { return try put(copy, in: place, note) }
        guard try isLost() else { throw madeMeanwhile }
        try note(place.files(.fill))
        try place.withoutLogs { () throws(BackupError) in
            // A program may have the empty file open, so it stays the same file.
            try DatabaseExchange(path: path, busyTimeoutSeconds: busyTimeoutSeconds).publish(
                copy, { () throws(BackupError) in try FaultInjection.reached("lost.database-copied") },
                // A database with a log is none that is lost.
                { (_) throws(BackupError) in throw madeMeanwhile },
                { () throws(BackupError) in
                    // Another program can write no more. The journal is this transaction's own.
                    guard let now = try FileSystem.lookBehindLinks(path), FileIdentity(now) == FileIdentity(file), now.size == 0,
                        try (FileSystem.look(realPath() + "-wal")?.size ?? 0) == 0
                    else { throw madeMeanwhile }
                })
        }
    }

    private func put(
        _ copy: String, in place: LostPlace, _ note: (RecreationFiles) throws(BackupError) -> Void
    ) throws(BackupError) {
        let draft = LostPlace.draftName()
        let source = try SharedFile(path: copy)
        try note(place.files(.draft, draft: draft))
        do {
            let file = try make(draft, in: place.folder)
            try source.copy(source.size, to: file, named: path)
            try file.synchronize()
            try FaultInjection.reached("lost.database-copied")
            try place.withoutLogs { () throws(BackupError) in
                try refusingPresent { () throws(BackupError) in try place.folder.move(draft, to: place.folder, as: place.name) }
                try place.folder.synchronize()
            }
        } catch {
            try? place.folder.removeFile(draft)
            throw error
        }
        try place.folder.synchronize()
    }

    /// Makes the empty file of a lost database where there is none, and clears empty logs away. An empty file is an empty database.
    /// - Parameter note: as of `recreate`.
    /// - Throws: `busy` as `recreate`.
    public func makeEmpty(noting note: (RecreationFiles) throws(BackupError) -> Void) throws(BackupError) {
        let place = try LostPlace(realPath())
        guard try isLost() else { throw madeMeanwhile }
        try note(place.files(.empty))
        try place.withoutLogs { () throws(BackupError) in
            guard try !exists() else { return }
            try refusingPresent { () throws(BackupError) in _ = try make(place.name, in: place.folder) }
        }
        try place.folder.synchronize()
    }

    /// A new file, made only where there is none. What the lost one's mode was, its folder tells best: the app may have its data by its group. Others get
    /// nothing, since the lost one may have been private.
    private func make(_ name: FileName, in folder: FolderHandle) throws(BackupError) -> OwnedDescriptor {
        let file = try folder.createFile(name, permissions: 0o600)
        NewFileOwner.giveToOwnerOfFolder(file.path)
        let place = try folder.status()
        var group: mode_t = 0o070
        if try file.status().group != place.group, !file.giveToGroup(place.group) { group = 0 }
        let allowed = (0o600 | group) & ~FolderHandle.creationMask
        try file.setPermissions(0o600 | mode_t(place.mode) & 0o666 & allowed)
        return file
    }

    private func refusingPresent(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        do throws(BackupError) {
            try body()
        } catch {
            throw error.code == .alreadyExists ? madeMeanwhile : error
        }
    }

    /// That a database which was lost is there by now.
    public var madeMeanwhile: BackupError { LostPlace.madeMeanwhile(path) }
}
