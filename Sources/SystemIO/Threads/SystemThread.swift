import BackupCore
import Glibc

/// A thread of the system, for work that waits in system calls: such work would hold up the threads that a language's pool has.
public struct SystemThread: Sendable {
    /// What the thread is given.
    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// For pthread_kill(3) and its like, until `join` was called.
    public let handle: pthread_t

    /// Starts it.
    /// - Throws: `inputOutput` when the system has no more threads to give.
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

    /// Lets it end by itself, when nobody will wait for that.
    public func detach() { pthread_detach(handle) }

    /// Waits until it has ended. Call it once.
    public func join() { pthread_join(handle, nil) }
}
