import BackupCore
import SystemIO

/// A folder for the temporary files of one operation. A lock in it shows that it is in use, which distinguishes the remains of a crash from another process's
/// work.
final class WorkFolder: Sendable {
    /// The name prefix of folders in a store's spool.
    private static let spoolPrefix = "work-"
    private static let lockSuffix = ".lock"

    let path: String
    private let lock: AdvisoryLock

    /// - Parameter prefix: the prefix of the folder's name; 32 hexadecimal digits follow.
    init(in spool: String, prefix: String = WorkFolder.spoolPrefix) throws(BackupError) {
        var claimed: (path: String, lock: AdvisoryLock)?
        for _ in 0..<8 where claimed == nil { claimed = try Self.claim(in: spool, prefix) }
        guard let claimed else {
            throw BackupError(.busy, "another process tidies up the spool", path: spool, remedy: "Try again.")
        }
        (path, lock) = claimed
        do {
            try FileSystem.makeDirectories(path)
        } catch {
            remove()
            throw error
        }
    }

    /// Takes the lock before creating the folder: a folder never exists without its lock.
    /// - Returns: `nil` when a sweeping process mistook the new lock's file for an old one.
    private static func claim(in spool: String, _ prefix: String) throws(BackupError) -> (path: String, lock: AdvisoryLock)? {
        let path = "\(spool)/\(prefix)\(RandomToken.make())"
        do {
            let lock = try AdvisoryLock(path: path + lockSuffix)
            return try FileSystem.exists(path + lockSuffix) ? (path, lock) : nil
        } catch let error where error.code == .busy {
            return nil
        }
    }

    func remove() {
        try? FileSystem.removeTree(path)
        try? FileSystem.removeFile(path + Self.lockSuffix)
    }

    /// Removes the folders that no process uses any more.
    static func sweep(_ spool: String, prefix: String = WorkFolder.spoolPrefix) throws(BackupError) {
        for path in try abandoned(in: spool, prefix: prefix) {
            // Held during the sweep, so that no process starts using the folder.
            guard let lock = try? AdvisoryLock(path: path + lockSuffix) else { continue }
            try FileSystem.removeTree(path)
            try FileSystem.removeFile(path + lockSuffix)
            withExtendedLifetime(lock) {}
        }
    }

    /// The paths of folders that no process uses any more.
    static func abandoned(in spool: String, prefix: String = WorkFolder.spoolPrefix) throws(BackupError) -> Set<String> {
        var paths: Set<String> = []
        for name in try DirectoryReader(path: spool).names() where isOurs(name, prefix: prefix) {
            let text = name.description
            let folder = text.hasSuffix(lockSuffix) ? String(text.dropLast(lockSuffix.utf8.count)) : text
            if try !AdvisoryLock.isHeld(path: "\(spool)/\(folder)\(lockSuffix)") { paths.insert("\(spool)/\(folder)") }
        }
        return paths
    }

    /// Whether a name is that of a work folder or its lock.
    static func isOurs(_ name: FileName, prefix: String) -> Bool {
        let text = name.description
        guard text.hasPrefix(prefix) else { return false }
        let token = text.dropFirst(prefix.count)
        let digits = token.hasSuffix(lockSuffix) ? token.dropLast(lockSuffix.count) : token
        return digits.utf8.count == 32 && Hexadecimal.decode(digits.utf8) != nil
    }
}
