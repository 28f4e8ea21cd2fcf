import BackupCore

/// Times as integral milliseconds since 1970 in UTC.
public enum EpochMilliseconds {
    /// - Returns: `nil` for a time out of range. Drops fractions of a millisecond.
    public static func value(of time: Timestamp) -> Int64? {
        let (milliseconds, overflow) = time.seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return nil }
        let (sum, sumOverflow) = milliseconds.addingReportingOverflow(Int64(time.nanoseconds / 1_000_000))
        return sumOverflow ? nil : sum
    }

    public static func time(_ milliseconds: Int64) -> Timestamp {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        // Before 1970, the fraction counts from the second before.
        return rest < 0
            ? Timestamp(seconds: seconds - 1, nanoseconds: UInt32(rest + 1_000) * 1_000_000)
            : Timestamp(seconds: seconds, nanoseconds: UInt32(rest) * 1_000_000)
    }
}
