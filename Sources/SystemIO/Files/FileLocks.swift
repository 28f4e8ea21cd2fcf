import BackupCore
import CLinux
import Glibc
import Synchronization

/// A lock on a file against other processes and other holders in this one (Linux's open file description locks, fcntl(2)). The
/// kernel drops it when its holder ends in any way. Unlike flock(2), it can be queried without being taken, so a query never
/// makes another program's attempt fail.
public final class AdvisoryLock: Sendable {
    private let descriptor: OwnedDescriptor

    /// Takes the lock without waiting.
    ///
    /// Refuses a symbolic link, and keeps the mode of a file that has another hard link: a user who can plant either in the
    /// folder could otherwise make us change any of our files.
    /// - Throws: `busy` when the lock is already held.
    public convenience init(path: String, exclusive: Bool = true) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o600)
        // A umask may have removed the owner's own bits from a new file; another user's file keeps its mode.
        if try descriptor.status().linkCount <= 1 { _ = fchmod(descriptor.rawValue, 0o600) }
        try self.init(locking: descriptor, exclusive: exclusive)
    }

    /// Locks a file that is open for reading and writing, without waiting.
    /// - Throws: `busy` when the lock is already held; other errors where the file system has no locks.
    public init(locking descriptor: consuming OwnedDescriptor, exclusive: Bool = true) throws(BackupError) {
        let path = descriptor.path
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

    /// Not left to close(2): a program that another thread is starting has a copy of the descriptor until exec, and would hold
    /// the lock until then.
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

/// A lock on an existing folder, so that no lock file is created or left behind (flock(2)). The kernel drops it when its holder
/// ends in any way.
///
/// Excludes only holders on the same machine: file systems, including network ones, leave locks on folders to the kernel. The
/// folder may be read-only.
public final class FolderLock: Sendable {
    private let descriptor: OwnedDescriptor

    private init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
        HeldLocks.add(self.descriptor.rawValue, unlock: backupfs_unlock_folder)
    }

    /// Takes the lock without waiting. Follows links.
    /// - Parameter exclusive: whether to exclude all other holders; otherwise other shared holders are allowed.
    /// - Returns: `nil` when the folder cannot be opened, or its file system has no locks.
    /// - Throws: `busy` when another holder excludes this one, or another folder is replacing this one.
    public static func take(_ path: String, exclusive: Bool) throws(BackupError) -> FolderLock? {
        guard let descriptor = try? OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY) else { return nil }
        if SystemCall.retrying({ backupfs_lock_folder(descriptor.rawValue, exclusive ? 1 : 0) }) == -1 {
            guard errno == EWOULDBLOCK else { return nil }
            throw busy(path)
        }
        let identity = FileIdentity(try descriptor.status())
        let lock = FolderLock(descriptor)
        // The next process would lock the folder that has the name now.
        guard try FileSystem.identityIfPresent(path) == identity else { throw busy(path) }
        return lock
    }

    private static func busy(_ path: String) -> BackupError {
        BackupError(
            .busy, "another program has locked the folder", path: path, remedy: "Wait until it has finished and try again.")
    }

    /// Releases the lock early. A no-op the second time.
    public func release() { HeldLocks.release(descriptor.rawValue) }

    /// Not left to close(2), as with `AdvisoryLock`: a program that is being started has a copy of the descriptor until exec.
    deinit { release() }
}

/// How long this process waits for a lock that another operation holds: not at all, unless a user asks for it (`--wait`). A mount
/// never waits: it answers every request immediately.
public enum LockTimeout {
    private struct Limit: Sendable {
        /// `nil` for no limit.
        let nanoseconds: UInt64?
        let onWait: @Sendable (Message) -> Void
    }

    private static let limit = Mutex<Limit?>(nil)
    private static let pauseMicroseconds: UInt32 = 50_000

    /// - Parameters:
    ///   - seconds: for each lock; `nil` for no limit.
    ///   - onWait: called once for each lock that is waited for, with a message that names the lock holder.
    public static func begin(seconds: Int64?, onWait: @escaping @Sendable (Message) -> Void) {
        let nanoseconds = seconds.map { UInt64(clamping: $0).multipliedReportingOverflow(by: 1_000_000_000) }
        limit.withLock {
            $0 = Limit(nanoseconds: nanoseconds.map { $0.overflow ? .max : $0.partialValue }, onWait: onWait)
        }
    }

    /// Retries `body` until it does not throw `busy`, or the time is over.
    /// - Throws: errors of `body`; `interrupted` for a signal.
    public static func waiting<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let first: BackupError
        do throws(BackupError) {
            return try body()
        } catch {
            first = error
        }
        guard first.code == .busy, let limit = limit.withLock({ $0 }) else { throw first }
        let began = SystemClock.monotonicNanoseconds()
        return try CancellingSignals.run { () throws(BackupError) in
            // A signal may come as soon as a user sees the message.
            limit.onWait(first.message)
            while true {
                if Cancellation.isProcessEnding { throw BackupError(.interrupted, "cancelled; nothing was changed") }
                usleep(pauseMicroseconds)
                do throws(BackupError) {
                    return try body()
                } catch {
                    let waited = SystemClock.monotonicNanoseconds() - began
                    guard error.code == .busy, limit.nanoseconds.map({ waited < $0 }) != false else { throw error }
                }
            }
        }
    }
}
