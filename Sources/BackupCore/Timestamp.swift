/// A point in time, in the file system's form: seconds since 1970-01-01T00:00:00Z and nanoseconds within the second.
public struct Timestamp: Hashable, Comparable, Sendable {
    public let seconds: Int64
    /// 0 to 999,999,999, also before 1970: -0.5 s is `seconds` -1 and 500,000,000 ns.
    public let nanoseconds: UInt32

    public init(seconds: Int64, nanoseconds: UInt32 = 0) {
        precondition(nanoseconds < 1_000_000_000, "nanoseconds are within one second")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// The same instant without the fraction of the second.
    public var wholeSeconds: Timestamp { Timestamp(seconds: seconds) }
}
