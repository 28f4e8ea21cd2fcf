import BackupCore
import Glibc
import Synchronization

/// While an operation runs in a program that a person has started: SIGINT, SIGTERM and SIGHUP cancel it instead of killing the program in
/// the middle of it. The second one kills: what an operation then leaves behind, the next one clears away.
public enum CancellingSignals {
    private static let signals: [Int32] = [SIGINT, SIGTERM, SIGHUP]
    private static let isOn = Atomic<Bool>(false)

    /// Whether signals cancel what this program runs.
    static var areOn: Bool { isOn.load(ordering: .relaxed) }
    /// Those signals, and that of `backupfs cancel`.
    static var set: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals + [SIGUSR1] { sigaddset(&set, signal) }
        return set
    }

    /// Whether `run` does anything: not in a program that has reactions of its own to signals, such as a mount.
    public static func enable(_ isEnabled: Bool = true) {
        isOn.store(isEnabled, ordering: .relaxed)
        guard isEnabled else { return }
        // Another of our programs asks to end what runs (`backupfs cancel`). For good: it may come when that has just ended.
        signal(SIGUSR1) { _ in
            Cancellation.cancelProcess()
            StallWatch.noteRequest()
        }
        // Whoever started the program may have kept them from his own threads.
        var mask = set
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    }

    /// Signals mean that from here to the end of `body`.
    public static func run<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        guard isOn.load(ordering: .relaxed) else { return try StallWatch.running(body) }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            Cancellation.cancelProcess()
            StallWatch.noteRequest()
        }
        // The second of the same kind does what it always did.
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
        let earlier = signals.map { signal in
            var old = sigaction()
            sigaction(signal, nil, &old)
            // Of nohup(1), or of a shell that has started it in the background.
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
    /// The value of SIG_IGN, which Swift's module of libc does not have as one that can be compared.
    fileprivate var isIgnoring: Bool { unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == 1 }
}
