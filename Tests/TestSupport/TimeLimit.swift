import BackupCore
import Glibc
import Synchronization
import SystemIO

/// Work that must end in time: otherwise the test fails instead of hanging.
public enum TimeLimit {
    /// - Returns: the result of `body`; `nil` when it still runs after `seconds`. Its thread is then left behind.
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
