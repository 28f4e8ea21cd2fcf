/// The units of durations, the same everywhere: schedules, retention rules, limits, waits.
///
/// `m` alone is months in restic's `--keep-within` and minutes in systemd: it keeps its meaning where only one of them makes sense, and is refused elsewhere.
public enum TimeUnit: String, CaseIterable, Sendable {
    case seconds = "s"
    case minutes = "min"
    case hours = "h"
    case days = "d"
    case weeks = "w"
    case months = "mo"
    case years = "y"

    private static let numberLimit = 1_000_000

    /// The length; `nil` for units whose length varies in the calendar.
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

    /// Parses `1y6mo`, `30d12h`, `90min`: the whole text must consist of numbers, each followed by a unit.
    /// - Parameter ambiguous: the meaning of `m`; `nil` where it could be either.
    /// - Returns: `nil` for an invalid duration.
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
