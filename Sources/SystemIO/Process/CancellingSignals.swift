import BackupCore
import Glibc
import Synchronization

/// While a program that a person started runs an operation, SIGINT, SIGTERM and SIGHUP cancel the operation instead of killing
/// the program in the middle of it. The second signal kills: the next operation cleans up what is left.
public enum CancellingSignals {
    private static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    private static let isOn = Atomic<Bool>(false)

    /// Whether signals cancel this program's operations.
    static var areOn: Bool { isOn.load(ordering: .relaxed) }
    /// These signals, and the one that `backupfs cancel` sends.
    static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals + [SIGUSR1] { sigaddset(&set, signal) }
        return set
    }

    /// Whether `run` has an effect: not in a program that handles signals itself, such as a mount.
    public static func enable(_ isEnabled: Bool = true) {
        isOn.store(isEnabled, ordering: .relaxed)
        guard isEnabled else { return }
        // Another of our programs asks to cancel the operation (`backupfs cancel`). The handler stays: the signal may come just
        // after the operation has ended.
        signal(SIGUSR1) { _ in
            Cancellation.cancelProcess()
            StallWatch.noteRequest()
        }
        // The parent process may have blocked them.
        var mask = set
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    }

    /// Signals cancel from here to the end of `body`.
    public static func run<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        guard isOn.load(ordering: .relaxed) else { return try StallWatch.running(body) }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            Cancellation.cancelProcess()
            StallWatch.noteRequest()
        }
        // A second signal of the same kind gets the default action.
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        let earlier = signals.map { signal in
            var old = sigaction()
            sigaction(signal, nil, &old)
            // Ignored by nohup(1), or by a shell that started the program in the background.
            if !old.isIgnoring { sigaction(signal, &action, nil) }
            return old
        }
        defer {
            for (signal, old) in zip(signals, earlier) {
                var old = old
                sigaction(signal, &old, nil)
            }
        }
        return try StallWatch.running(body)
    }
}

extension sigaction {
    /// The value of SIG_IGN; Swift's libc module has it in no comparable form.
    fileprivate var isIgnoring: Bool { unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == 1 }
}

/// Signals of this process that no thread handles: the thread that the kernel chose for them is blocked in the kernel on storage
/// that does not answer, and the kernel chooses no other. For use in one thread, which blocks these signals for itself.
struct PendingSignals {
    private let watched: sigset_t
    private var wasPending = false

    init() {
        watched = CancellingSignals.set
        var mask = watched
        pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    /// Takes a signal that was already pending at the last call. Call it a few times a second.
    mutating func take() -> Bool {
        var pending = sigset_t()
        guard sigpending(&pending) == 0 else { return false }
        let isPending = (1..<Int32(32)).contains { signal in
            withUnsafePointer(to: watched) { sigismember($0, signal) == 1 } && sigismember(&pending, signal) == 1
        }
        defer { wasPending = isPending }
        guard isPending, wasPending else { return false }
        var now = timespec()
        return withUnsafePointer(to: watched) { sigtimedwait($0, nil, &now) } > 0
    }
}
