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
        let realPath = try realPath()
        for suffix in DatabaseLogs.logSuffixes {
            // What SQLite has not written into the database yet.
            if let log = try FileSystem.look(realPath + suffix), log.size > 0 { return false }
        }
        return true
    }

    /// Whether a copy of a database could stand in the place of this one: it is whole, and has what the app's definition asks for.
    public func canBeRecreated(from copy: String) -> Bool {
        guard (try? DroppedDatabase.damage(ofCopy: copy)) == .some(nil) else { return false }
        return (try? AppDatabase(opening: copy, definition: definition)) != nil
    }

    /// Makes a lost database what a copy of it is: its tables, whether the definition names them or not, with indexes, views, triggers and version
    /// numbers. Durable when it returns; after an error or a crash the database is lost as before.
    /// - Parameter copy: a database without a log that no other program has open.
    public func recreate(from copy: String) throws(BackupError) {
        guard try FileSystem.lookBehindLinks(path) == nil else {
            // A program may have the empty file open, so it stays the same file.
            return try DatabaseExchange(path: path, busyTimeoutSeconds: busyTimeoutSeconds).publish(
                copy, { () throws(BackupError) in }, { (body) throws(BackupError) in try body() }, { () throws(BackupError) in })
        }
        let place = try realPath()
        let folder = try FolderHandle(path: FileSystem.realPath(FileSystem.parentPath(place)))
        let name = FileName(FileSystem.lastComponent(place))
        // As staged media are called, which backups leave out: the database may lie among the media, and a crash leaves it there.
        let draft = FileName(".backupfs-staging-\(RandomToken.make())")
        let source = try SharedFile(path: copy)
        do {
            // Made only where there is none.
            let file = try folder.createFile(draft, permissions: 0o600)
            try source.copy(source.size, to: file, named: place)
            try file.synchronize()
            NewFileOwner.giveToOwnerOfFolder(file.path)
            try folder.move(draft, to: folder, as: name)
        } catch {
            try? FileSystem.removeFile("\(folder.path)/\(draft)")
            throw error
        }
        try folder.synchronize()
    }
}
