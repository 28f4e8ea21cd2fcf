import BackupCore
import Glibc

/// A lock on a file (flock(2)) that keeps other processes, and other holders in this one, away. The kernel drops it when its
/// holder ends, however it ends.
public final class AdvisoryLock: Sendable {
    private let descriptor: OwnedDescriptor

    /// Takes the lock without waiting.
    /// - Throws: `busy` when somebody else has it.
    public init(path: String, exclusive: Bool = true) throws(BackupError) {
        let descriptor = try OwnedDescriptor.open(path, O_RDWR | O_CREAT, permissions: 0o600)
        // A umask may have taken the owner's own bits from a new file; one that belongs to somebody else stays as it is.
        _ = fchmod(descriptor.rawValue, 0o600)
        if SystemCall.retrying({ flock(descriptor.rawValue, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) }) == -1 {
            if errno == EWOULDBLOCK {
                throw BackupError(
                    .busy, "another operation is running", path: path, remedy: "Wait until it has finished and try again.")
            }
            throw SystemCall.error(errno, action: "lock", path: path)
        }
        self.descriptor = descriptor
    }
}
