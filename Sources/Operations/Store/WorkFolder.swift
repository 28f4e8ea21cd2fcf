import AppData
import BackupCore
import Glibc
import SystemIO

/// A folder for the temporary files of one operation. A lock in it shows that it is in use, which distinguishes the remains of a
/// crash from another process's work.
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
        for name in try DirectoryHandle(path: spool).names() where isOurs(name, prefix: prefix) {
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

/// `CACHEDIR.TAG`: marks a folder for backup programs and indexers as reproducible (<https://bford.info/cachedir/>). Only the
/// spool is marked, never the repository.
enum CacheDirectoryTag {
    static let fileName = "CACHEDIR.TAG"

    /// Programs look for the first line; it must not change by a byte.
    static let text = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This file is a cache directory tag created by backupfs.
        # What lies beside it can be made again: backup programs may leave it out. For information about such tags, see:
        #	https://bford.info/cachedir/

        """

    /// Marks a folder, unless it is marked. A failure must not prevent a backup: on a full disk, a later call does it.
    static func mark(_ folder: String) {
        let path = "\(folder)/\(fileName)"
        if (try? FileSystem.exists(path)) == false { try? FileSystem.writeForReaders(path, Array(text.utf8)) }
    }
}

/// A file in a restore's work folder that records that the restore creates a lost database again. After a crash it lists the
/// files left beside the database, and shows that the database may be back although the restore was undone.
struct RecreationRecord {
    private static let name = "lost-database"
    /// A path and a few names.
    private static let limitBytes = 8_192

    /// The message about the database when the rest of the restore failed.
    static let broughtBack: Message =
        "The database, which was lost, is there again as the backup has it. The rest was not restored: restore again."

    private let path: String

    init(in workPath: String) { path = "\(workPath)/\(Self.name)" }

    /// Not synced: if a power cut loses it, some files are left behind.
    func write(_ files: RecreationFiles) throws(BackupError) {
        let file = try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, permissions: 0o600)
        try files.bytes.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try file.writeAll(bytes, at: 0) }
    }

    private var files: RecreationFiles? {
        (try? FileSystem.readFile(path, limitBytes: Self.limitBytes)).flatMap { RecreationFiles(bytes: $0) }
    }

    /// Removes what the crash left beside the database.
    func clearAway() { files?.clearAway() }

    /// Whether the database that a crashed restore was creating now exists.
    func hasMade(_ database: AppDatabase) -> Bool { files?.haveBecome(database) ?? false }

    /// The records of crashed restores.
    static func abandoned(in spool: String) -> [RecreationRecord] {
        ((try? WorkFolder.abandoned(in: spool)) ?? []).map { RecreationRecord(in: $0) }
    }
}
