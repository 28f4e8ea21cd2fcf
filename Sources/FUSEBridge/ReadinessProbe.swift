import BackupCore
import Glibc
import SystemIO

/// Queries the mount's root once, from a separate thread: the kernel delays the query until the mount is negotiated, and the session's threads have to answer
/// it. If the connection ends before that, the query fails.
final class ReadinessProbe {
    private let thread: SystemThread

    /// - Parameter onAnswer: called on that thread when the mount has answered.
    init(mountpoint: String, onAnswer: @escaping @Sendable () -> Void) throws(BackupError) {
        thread = try SystemThread {
            var status = stat()
            if stat(mountpoint, &status) == 0 { onAnswer() }
        }
    }

    /// Waits until the query was answered or has failed.
    func join() { thread.join() }
}
