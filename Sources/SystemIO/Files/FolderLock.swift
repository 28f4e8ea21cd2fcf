import BackupCore
import CLinux
import Glibc

/// A lock on an existing folder, so that no lock file is created or left behind (flock(2)). The kernel drops it when its holder ends in any way.
///
/// Excludes only holders on the same machine: file systems, including network ones, leave locks on folders to the kernel. The folder may be read-only.
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
