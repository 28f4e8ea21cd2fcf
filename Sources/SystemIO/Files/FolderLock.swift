import BackupCore
import CLinux
import Glibc

/// A lock on a folder that is there already, so that nothing is made for it and nothing is left of it (flock(2)). The kernel drops it when its holder
/// ends, however it ends.
///
/// It keeps away holders on the same machine only: file systems, those of networks too, leave locks on folders to the kernel. A folder may be read-only.
public final class FolderLock: Sendable {
    private let descriptor: OwnedDescriptor

    private init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
        HeldLocks.add(self.descriptor.rawValue, unlock: backupfs_unlock_folder)
    }

    /// Takes it without waiting. Links are followed.
    /// - Parameter exclusive: whether no other holder is let in; else those are who take it so as well.
    /// - Returns: `nil` where the folder cannot be opened, or its file system has no locks.
    /// - Throws: `busy` while a holder keeps this one out, or the folder is being replaced by another one.
    public static func take(_ path: String, exclusive: Bool) throws(BackupError) -> FolderLock? {
        guard let descriptor = try? OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY) else { return nil }
        if SystemCall.retrying({ backupfs_lock_folder(descriptor.rawValue, exclusive ? 1 : 0) }) == -1 {
            guard errno == EWOULDBLOCK else { return nil }
            throw busy(path)
        }
        let identity = FileIdentity(try descriptor.status())
        let lock = FolderLock(descriptor)
        // The next to come would lock the folder that has the name now.
        guard try FileSystem.identityIfPresent(path) == identity else { throw busy(path) }
        return lock
    }

    private static func busy(_ path: String) -> BackupError {
        BackupError(
            .busy, "another program has locked the folder", path: path, remedy: "Wait until it has finished and try again.")
    }

    /// Lets others in before the value goes. Does nothing the second time.
    public func release() { HeldLocks.release(descriptor.rawValue) }

    /// Not left to close(2), as with `AdvisoryLock`: a program that is just being started has a copy of the descriptor until it runs.
    deinit { release() }
}
