import BackupCore
import Glibc
import SystemIO

/// Asks the mount for its root once, from a thread of its own: the kernel holds the question back until the mount is negotiated, and it
/// takes the session's threads to answer it. When the connection ends before that, the question fails.
final class ReadinessProbe {
    /// What the thread is given.
    private final class Question: Sendable {
        let mountpoint: String
        let onAnswer: @Sendable () -> Void

        init(mountpoint: String, onAnswer: @escaping @Sendable () -> Void) {
            self.mountpoint = mountpoint
            self.onAnswer = onAnswer
        }
    }

    private let thread: pthread_t

    /// - Parameter onAnswer: called from the thread when the mount has answered.
    init(mountpoint: String, onAnswer: @escaping @Sendable () -> Void) throws(BackupError) {
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(Question(mountpoint: mountpoint, onAnswer: onAnswer))
        let result = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let question = Unmanaged<Question>.fromOpaque(argument).takeRetainedValue()
                var status = stat()
                if stat(question.mountpoint, &status) == 0 { question.onAnswer() }
                return nil
            }, argument.toOpaque())
        guard result == 0 else {
            argument.release()
            throw SystemCall.error(result, action: "start a thread", path: mountpoint)
        }
        self.thread = thread
    }

    /// Waits until the question was answered or has failed.
    func join() { pthread_join(thread, nil) }
}
