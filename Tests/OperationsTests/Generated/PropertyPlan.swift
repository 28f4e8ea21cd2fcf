import Glibc
import SystemIO
import TestSupport

/// How long generated data is tried: `make property MINUTES=60`. Without minutes the tests try the same few numbers each time.
enum PropertyPlan {
    private static let seconds = (Machine.environment("BACKUPFS_PROPERTY_MINUTES").flatMap(Double.init) ?? 0) * 60

    static var isWanted: Bool { seconds > 0 }

    /// Calls `body` with one random number after the other until the time is over.
    /// - Returns: how often.
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
