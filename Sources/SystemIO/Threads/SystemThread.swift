import BackupCore
import Glibc

/// An operating system thread, for work that blocks in system calls: such work would block the threads of a language's pool.
public struct SystemThread: Sendable {
    /// The argument of the thread.
    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// For pthread_kill(3) and similar calls, until `join` was called.
    public let handle: pthread_t

    /// Starts it.
    /// - Throws: `inputOutput` when the system is out of threads.
    public init(_ body: @escaping @Sendable () -> Void) throws(BackupError) {
        var handle = pthread_t()
        let argument = Unmanaged.passRetained(Start(body))
        let result = pthread_create(
            &handle, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, argument.toOpaque())
        guard result == 0 else {
            argument.release()
            throw SystemCall.error(result, action: "start a thread", path: "backupfs")
        }
        self.handle = handle
    }

    /// Lets the thread end by itself, when no other thread will join it.
    public func detach() { pthread_detach(handle) }

    /// Waits until the thread has ended. Call it once.
    public func join() { pthread_join(handle, nil) }
}
