import BackupCore
import CFUSE
import Glibc
import SystemIO

/// The thread that runs libfuse's loop, which in turn starts the threads that serve. When the loop ends, for whatever reason, the
/// thread unmounts: nothing stays mounted that nobody serves.
final class SessionLoop {
    /// Shared with the thread, which alone writes to `result`; it is read after the thread was joined.
    private final class State: @unchecked Sendable {
        let session: OpaquePointer
        let mount: MountTable.Entry?
        let ended: Int32
        var result: Int32 = 0

        init(session: OpaquePointer, mount: MountTable.Entry?, ended: Int32) {
            self.session = session
            self.mount = mount
            self.ended = ended
        }
    }

    private let state: State
    private let thread: pthread_t

    /// Wakes the loop out of its wait. libfuse looks only then whether it shall end; a signal that nobody else uses has no other
    /// effect.
    private static let wakeSignal = SIGUSR2
    private static let isWakeSignalHandled: Bool = {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        // Without SA_RESTART: the wait must end.
        sigaction(wakeSignal, &action, nil)
        return true
    }()

    /// - Parameters:
    ///   - session: mounted. It must live until `join` has returned.
    ///   - mount: the session's mount as the table of mounts has it.
    ///   - ended: a descriptor that gets one zero byte when the loop has ended and the mount is gone.
    init(_ session: OpaquePointer, mount: MountTable.Entry?, ended: Int32) throws(BackupError) {
        _ = Self.isWakeSignalHandled
        state = State(session: session, mount: mount, ended: ended)
        var thread = pthread_t()
        let argument = Unmanaged.passRetained(state)
        let result = pthread_create(&thread, nil, { SessionLoop.run($0) }, argument.toOpaque())
        guard result == 0 else {
            argument.release()
            throw SystemCall.error(result, action: "start a thread", path: "backupfs")
        }
        self.thread = thread
    }

    /// Asks the loop to end after the requests that are being served. May have to be repeated until it has.
    func stop() {
        fuse_session_exit(state.session)
        pthread_kill(thread, Self.wakeSignal)
    }

    /// - Returns: 0, or a negative errno when the loop failed.
    func join() -> Int32 {
        pthread_join(thread, nil)
        return state.result
    }

    /// Whether what is seen at the mountpoint is this mount. After a lazy unmount another one may be there, and the session's own
    /// then ends with its descriptor.
    private static func isStillThere(_ mount: MountTable.Entry?) -> Bool {
        guard let mount, let table = try? MountTable.current() else { return true }
        return table.entry(at: mount.path) == mount
    }

    private static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        let state = Unmanaged<State>.fromOpaque(argument).takeRetainedValue()
        // Signals that end the program are for other threads: the wait here may be interrupted by the wake signal alone.
        var signals = sigset_t()
        sigfillset(&signals)
        sigdelset(&signals, wakeSignal)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
        state.result = backupfs_session_loop(state.session, 1, MountSession.maximumThreadCount)
        // From here on the wake signal would only disturb the unmount.
        sigaddset(&signals, wakeSignal)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
        if isStillThere(state.mount) { fuse_session_unmount(state.session) }
        var byte: UInt8 = 0
        _ = write(state.ended, &byte, 1)
        return nil
    }
}
