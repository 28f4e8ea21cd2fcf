import BackupCore
import Glibc
import SystemIO

/// Asks the mount for its root once, from a thread of its own: the kernel holds the question back until the mount is negotiated, and it
/// takes the session's threads to answer it. When the connection ends before that, the question fails.
final class ReadinessProbe {
    private let thread: SystemThread

    /// - Parameter onAnswer: called from the thread when the mount has answered.
    init(mountpoint: String, onAnswer: @escaping @Sendable () -> Void) throws(BackupError) {
        thread = try SystemThread {
            var status = stat()
            if stat(mountpoint, &status) == 0 { onAnswer() }
        }
    }

    /// Waits until the question was answered or has failed.
    func join() { thread.join() }
}
