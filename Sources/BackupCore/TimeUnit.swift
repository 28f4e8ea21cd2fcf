/// The units of lengths of time, the same wherever one is written: schedules, rules for what is kept, limits, waits.
///
/// `m` alone is months to restic's `--keep-within` and minutes to systemd: it goes on meaning what it did where only one of them can be meant, and is
/// refused elsewhere.
public enum TimeUnit: String, CaseIterable, Sendable {
    case seconds = "s"
    case minutes = "min"
    case hours = "h"
    case days = "d"
    case weeks = "w"
    case months = "mo"
    case years = "y"

    private static let numberLimit = 1_000_000

    /// How long it is; `nil` for those that the calendar has of several lengths.
    public var secondCount: Int64? {
        switch self {
        case .seconds: 1
        case .minutes: 60
        case .hours: 3_600
        case .days: 86_400
        case .weeks: 604_800
        case .months, .years: nil
        }
    }

    /// Reads `1y6mo`, `30d12h`, `90min`: numbers, each with a unit, from the first to the last character.
    /// - Parameter ambiguous: what `m` is; `nil` where it could be either.
    /// - Returns: `nil` for what is no length of time.
    public static func parts(of text: String, m ambiguous: TimeUnit?) -> [(number: Int, unit: TimeUnit)]? {
        var rest = text[...]
        var parts: [(number: Int, unit: TimeUnit)] = []
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { !($0.isASCII && $0.isNumber) }
            rest = rest.dropFirst(letters.count)
            guard let number = Int(digits), number <= numberLimit,
                let unit = letters == "m" ? ambiguous : TimeUnit(rawValue: String(letters))
            else { return nil }
            parts.append((number, unit))
        }
        return parts.isEmpty ? nil : parts
    }
}
