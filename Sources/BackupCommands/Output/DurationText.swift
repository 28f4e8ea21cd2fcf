/// Formats durations for display as stopwatches do: `0:42`, `12:05`, `1:02:03`.
enum DurationText {
    static func of(_ seconds: Double) -> String {
        let whole = UInt64(min(max(seconds.rounded(), 0), 1e9))
        let hours = whole / 3600
        return hours > 0
            ? "\(hours):\(twoDigits(whole / 60 % 60)):\(twoDigits(whole % 60))" : "\(whole / 60):\(twoDigits(whole % 60))"
    }

    private static func twoDigits(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
