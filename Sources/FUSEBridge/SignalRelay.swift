import Glibc
import Synchronization

/// Turns termination and control signals into bytes in a pipe, so that a thread can wait for them together with other events.
enum SignalRelay {
    private static let signals: [Int32] = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

    /// The descriptor that the handler writes to; -1 if there is none. An atomic, since a handler must not take a lock.
    private static let descriptor = Atomic<Int32>(-1)
    /// The previous signal actions.
    private static let earlier = Mutex<[sigaction]>([])

    /// - Parameter writer: gets the signal's number as one byte; remains the caller's.
    /// - Returns: false when the relay is already in use; nothing has changed then.
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
