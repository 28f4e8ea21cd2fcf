import Glibc

/// Whether a thread does anything: one that waits in the kernel for storage uses no processor time, one that waits again and again does.
public struct ThreadActivity: Sendable {
    private let clock: clockid_t

    /// That of the calling thread.
    public init() {
        var clock = clockid_t()
        pthread_getcpuclockid(pthread_self(), &clock)
        self.clock = clock
    }

    /// The processor time that it has used. After its end it stays what it is.
    public var usedNanoseconds: UInt64 {
        var value = timespec()
        guard clock_gettime(clock, &value) == 0 else { return 0 }
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }
}
