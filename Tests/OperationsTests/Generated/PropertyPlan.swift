import Glibc
import SystemIO
import TestSupport

/// How long to test generated data: `make property MINUTES=60`. Without minutes, the tests use the same few numbers each time.
enum PropertyPlan {
    private static let seconds = (Machine.environment("BACKUPFS_PROPERTY_MINUTES").flatMap(Double.init) ?? 0) * 60

    static var isWanted: Bool { seconds > 0 }

    /// Calls `body` with random numbers until the time is over.
    /// - Returns: the number of calls.
    static func forEachNumber(_ body: (Int) throws -> Void) rethrows -> Int {
        let end = SystemClock.monotonicNanoseconds() + UInt64(seconds * 1e9)
        var count = 0
        while SystemClock.monotonicNanoseconds() < end {
            try body(Int.random(in: 1_000..<1_000_000_000))
            count += 1
        }
        return count
    }
}
