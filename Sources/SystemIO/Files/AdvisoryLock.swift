import BackupCore
import CLinux
import Glibc

/// A lock on a file against other processes and other holders in this one (Linux's open file description locks, fcntl(2)). The kernel drops it when
/// its holder ends in any way. Unlike flock(2), it can be queried without being taken, so a query never makes another program's attempt fail.
public final class AdvisoryLock: Sendable {
    private let descriptor: OwnedDescriptor

    /// Takes the lock without waiting.
    ///
    /// Refuses a symbolic link, and keeps the mode of a file that has another hard link: a user who can plant either in the folder could otherwise
    /// make us change any of our files.
    /// - Throws: `busy` when the lock is already held.
    public init(path: String, exclusive: Bool = true) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o600)
        // A umask may have removed the owner's own bits from a new file; another user's file keeps its mode.
        if try descriptor.status().linkCount <= 1 { _ = fchmod(descriptor.rawValue, 0o600) }
        if SystemCall.retrying({ backupfs_lock(descriptor.rawValue, exclusive ? 1 : 0) }) == -1 {
            if errno == EAGAIN || errno == EACCES {
                throw BackupError(
                    .busy, "another operation is running", path: path, remedy: "Wait until it has finished and try again.")
            }
            throw SystemCall.error(errno, action: "lock", path: path)
        }
        self.descriptor = descriptor
        HeldLocks.add(self.descriptor.rawValue, unlock: backupfs_unlock)
    }

    /// Locks a file that is open for writing, without waiting: no other program can lock a byte of it.
    /// - Returns: `nil` when another program has locked part of it, or the file system has no locks.
    public init?(holding descriptor: consuming OwnedDescriptor) {
        let number = descriptor.rawValue
        guard SystemCall.retrying({ backupfs_lock(number, 1) }) == 0 else { return nil }
        self.descriptor = descriptor
        HeldLocks.add(number, unlock: backupfs_unlock)
    }

    /// Not left to close(2): a program that another thread is starting has a copy of the descriptor until exec, and would hold the lock until then.
    deinit { HeldLocks.release(descriptor.rawValue) }

    /// Whether the lock is held now, shared or exclusive. Does not take it.
    /// - Returns: false also when the file does not exist.
    /// - Throws: when the file cannot be queried.
    public static func isHeld(path: String) throws(BackupError) -> Bool {
        do throws(BackupError) {
            let descriptor = try OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            return try SystemCall.check("ask for the lock", path) { backupfs_is_locked(descriptor.rawValue) } == 1
        } catch {
            guard error.code == .notFound || error.code == .notADirectory else { throw error }
            return false
        }
    }

    /// Whether another program, or another holder in this one, has any lock on some bytes of a file. Does not take one.
    public static func isHeld(on file: borrowing OwnedDescriptor, from start: Int64, count: Int64) throws(BackupError) -> Bool {
        try SystemCall.check("ask for the lock", file.path) { backupfs_is_range_locked(file.rawValue, start, count) } == 1
    }
}
