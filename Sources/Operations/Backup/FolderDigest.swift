import AppData
import BackupCore
import Restore
import SystemIO

/// Tells one listing of a folder from another, in eight bytes: names, and which file or folder has each.
///
/// Logs and journals of SQLite databases are left out: an app makes and removes one with each of its commits, and they are stored with their databases.
/// What only has such a name, as `notes-journal` beside the text `notes`, counts like any other file.
struct FolderDigest: Equatable {
    private var sum: UInt64 = 0

    /// In whatever order they come.
    private mutating func add(_ hash: UInt64) { sum &+= hash }

    /// - Returns: all names, sorted; and the digest of those that are media.
    static func list(
        _ folder: borrowing DirectoryReader, _ amongMedia: DatabaseAmongMedia
    ) throws(BackupError) -> (names: [FileName], digest: FolderDigest) {
        var digest = FolderDigest()
        var logs: [(database: FileName, hash: UInt64)] = []
        let names = try folder.names { name, inode, mayBeFile in
            guard !amongMedia.hides(name) else { return }
            let hash = hash(name, inode)
            if mayBeFile, let database = DatabaseLogs.database(of: name) {
                logs.append((database, hash))
            } else {
                digest.add(hash)
            }
        }
        if !logs.isEmpty {
            let present = Set(names)
            var databases: [FileName: Bool] = [:]
            for log in logs {
                if databases[log.database] == nil {
                    databases[log.database] =
                        present.contains(log.database) && MediaDatabases.mayBeDatabase(log.database, in: folder)
                }
                if databases[log.database] != true { digest.add(log.hash) }
            }
        }
        return (names, digest)
    }

    private static func hash(_ name: FileName, _ inode: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(inode)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
