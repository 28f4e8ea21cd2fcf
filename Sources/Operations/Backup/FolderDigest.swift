import AppData
import BackupCore
import Restore
import SystemIO

/// An eight-byte digest of a folder's listing: the names, and the file or folder behind each.
///
/// Excludes logs and journals of SQLite databases: an app creates and removes one with each commit, and they are stored with their databases. A file that only
/// has such a name, such as `notes-journal` beside the text `notes`, counts as any other file.
struct FolderDigest: Equatable {
    private var sum: UInt64 = 0

    /// Independent of order.
    private mutating func add(_ hash: UInt64) { sum &+= hash }

    /// - Returns: all names, sorted, and the digest of those that are media.
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
