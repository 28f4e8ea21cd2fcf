import Glibc

/// Whether a thread does anything: one that waits in the kernel for storage uses no processor time, one that waits again and again does.
public struct ThreadActivity: Sendable {
    private let clock: clockid_t
    /// Its state is the third word there.
    private let statusPath: String

    /// That of the calling thread.
    public init() {
        var clock = clockid_t()
        pthread_getcpuclockid(pthread_self(), &clock)
        self.clock = clock
        var target = [CChar](repeating: 0, count: 64)
        // `1234/task/1235`
        let count = readlink("/proc/thread-self", &target, target.count - 1)
        let text = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        statusPath = "/proc/\(text)/stat"
    }

    /// The processor time that it has used. After its end it stays what it is.
    public var usedNanoseconds: UInt64 {
        var value = timespec()
        guard clock_gettime(clock, &value) == 0 else { return 0 }
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// Whether it only waits for a processor: a busy machine is no storage that stalls.
    public var waitsForProcessor: Bool {
        guard let text = try? FileSystem.readVirtualFile(statusPath),
            // The program's name stands in parentheses, and may have some itself.
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return false }
        return text[end...].dropFirst(2).first == UInt8(ascii: "R")
    }
}
