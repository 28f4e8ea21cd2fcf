import BackupCore
import SystemIO

/// A folder for the temporary files of one operation. A lock in it says that it is in use, so that what a crash left can be told from what
/// another process works on.
final class WorkFolder: Sendable {
    private static let prefix = "work-"
    private static let lockSuffix = ".lock"

    let path: String
    private let lock: AdvisoryLock

    init(in spool: String) throws(BackupError) {
        path = "\(spool)/\(Self.prefix)\(RandomToken.make())"
        // Before the folder: a folder is never there without its lock.
        lock = try AdvisoryLock(path: path + Self.lockSuffix)
        try FileSystem.makeDirectories(path)
    }

    func remove() {
        try? FileSystem.removeTree(path)
        try? FileSystem.removeFile(path + Self.lockSuffix)
    }

    /// Removes the folders that nobody works with any more.
    static func sweep(_ spool: String) throws(BackupError) {
        for path in try abandoned(in: spool) {
            try FileSystem.removeTree(path)
            try FileSystem.removeFile(path + lockSuffix)
        }
    }

    /// Paths of the folders that nobody works with any more.
    static func abandoned(in spool: String) throws(BackupError) -> Set<String> {
        var paths: Set<String> = []
        for name in try DirectoryReader(path: spool).names() where name.description.hasPrefix(prefix) {
            let text = name.description
            let folder = text.hasSuffix(lockSuffix) ? String(text.dropLast(lockSuffix.utf8.count)) : text
            if !AdvisoryLock.isHeld(path: "\(spool)/\(folder)\(lockSuffix)") { paths.insert("\(spool)/\(folder)") }
        }
        return paths
    }
}
