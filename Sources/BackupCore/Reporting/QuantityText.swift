/// Formats sizes for display, in powers of 1,024 as in `ls -h`.
public enum ByteCount {
    /// `12.3 MiB`.
    public static func text(_ count: UInt64) -> String {
        if count < 1_024 { return "\(count) B" }
        // Not `count * 10`: a damaged record can claim any size.
        var tenths = count / 1_024 * 10 + count % 1_024 * 10 / 1_024
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        while tenths >= 10_240, unit < units.count - 1 {
            tenths /= 1_024
            unit += 1
        }
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}

/// Formats durations for display as stopwatches do: `0:42`, `12:05`, `1:02:03`.
public enum DurationText {
    /// - Parameter seconds: rounded to whole ones.
    public static func of(_ seconds: Double) -> String {
        let whole = UInt64(min(max(seconds.rounded(), 0), 1e9))
        let hours = whole / 3600
        return hours > 0
            ? "\(hours):\(twoDigits(whole / 60 % 60)):\(twoDigits(whole % 60))" : "\(whole / 60):\(twoDigits(whole % 60))"
    }

    /// `0.42 s`, `3 min 20 s`, `2 h 5 min`.
    public static func precise(milliseconds: Int64) -> String {
        let seconds = milliseconds / 1_000
        if seconds < 60 { return "\(seconds).\(String(milliseconds % 1_000 / 10 + 100).dropFirst()) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3_600) h \(seconds / 60 % 60) min"
    }

    private static func twoDigits(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
