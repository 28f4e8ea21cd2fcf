import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Work that must come to its end: a test fails when it does not, instead of waiting with it.
public enum TimeLimit {
    /// - Returns: what `body` returns; `nil` when it still runs after `seconds`. Its thread is then left behind.
    public static func run<Result: Sendable>(
        seconds: UInt64, _ body: @escaping @Sendable () throws -> Result
    ) throws -> Result? {
        let outcome = Monitor<Swift.Result<Result, any Error>?>(nil)
        let thread = try SystemThread {
            let result = Swift.Result { try body() }
            outcome.changeWakingAll { $0 = result }
        }
        thread.detach()
        guard outcome.wait(until: { $0 != nil }, forNanoseconds: seconds * 1_000_000_000) else { return nil }
        return try outcome.withLock { $0 }?.get()
    }
}
