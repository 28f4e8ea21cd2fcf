import Glibc

/// Whether a thread makes progress: one that waits in the kernel for storage uses no processor time, one that waits repeatedly does.
public struct ThreadActivity: Sendable {
    private let clock: clockid_t
    /// The thread's state is the third word in this file.
    private let statusPath: String

    /// The activity of the calling thread.
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

    /// The processor time that the thread has used. It stays constant after the thread ends.
    public var usedNanoseconds: UInt64 {
        var value = timespec()
        guard clock_gettime(clock, &value) == 0 else { return 0 }
        return UInt64(value.tv_sec) * 1_000_000_000 + UInt64(value.tv_nsec)
    }

    /// Whether the thread only waits for a processor: a busy machine is not stalled storage.
    public var waitsForProcessor: Bool {
        guard let text = try? FileSystem.readVirtualFile(statusPath),
            // The program's name is in parentheses, and may contain some itself.
            let end = text.lastIndex(of: UInt8(ascii: ")"))
        else { return false }
        return text[end...].dropFirst(2).first == UInt8(ascii: "R")
    }
}
