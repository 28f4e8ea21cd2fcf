import Glibc
import Synchronization

/// Turns the signals that ask a program to do something into bytes in a pipe, so that they can be waited for along with other things.
enum SignalRelay {
    private static let signals: [Int32] = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

    /// Where the handler writes to; -1 while nobody waits. An atomic, since a handler may take no lock.
    private static let descriptor = Atomic<Int32>(-1)
    /// What the signals did before.
    private static let earlier = Mutex<[sigaction]>([])

    /// - Parameter writer: gets the signal's number as one byte. It stays the caller's.
    /// - Returns: false when somebody else waits for signals already; then nothing has changed.
    static func begin(writer: Int32) -> Bool {
        guard descriptor.compareExchange(expected: -1, desired: writer, ordering: .sequentiallyConsistent).exchanged else {
            return false
        }
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { signal in
            let saved = errno
            var byte = UInt8(truncatingIfNeeded: signal)
            let writer = SignalRelay.descriptor.load(ordering: .sequentiallyConsistent)
            if writer >= 0 { _ = write(writer, &byte, 1) }
            errno = saved
        }
        action.sa_flags = SA_RESTART
        earlier.withLock { earlier in
            earlier = signals.map { signal in
                var old = sigaction()
                sigaction(signal, &action, &old)
                return old
            }
        }
        return true
    }

    static func end() {
        earlier.withLock { earlier in
            for (signal, old) in zip(signals, earlier) {
                var old = old
                sigaction(signal, &old, nil)
            }
            earlier = []
        }
        descriptor.store(-1, ordering: .sequentiallyConsistent)
    }
}
