import BackupCore

/// When automatic backups run.
public enum Schedule: Sendable, Equatable {
    case off
    /// This many seconds after the previous one.
    case interval(Int64, text: String)
    /// At times of the local calendar, each exactly once, regardless of clock changes.
    case calendar(CalendarExpression)

    /// Parses `off`, `every 24h` (`s`, `min` or `m`, `h`, `d`, `w`; combined, as `1h30m`; a minute to 366 days), or the syntax of
    /// `CalendarExpression`.
    /// - Throws: `usage`, with the supported syntax.
    public init(parsing text: String) throws(BackupError) {
        let words = text.split(separator: " ").map { $0.lowercased() }
        if words == ["off"] {
            self = .off
        } else if words.first == "every" {
            guard let seconds = Self.seconds(words.dropFirst().joined()) else {
                throw BackupError(
                    .usage,
                    "“\(MessageText.shortened(text))” is not a schedule: every takes a length of time from a minute to 366 days",
                    remedy: "Write it like every 24h, every 90min or every 2d.")
            }
            self = .interval(seconds, text: words.joined(separator: " "))
        } else {
            self = .calendar(try CalendarExpression(parsing: text))
        }
    }

    private static func seconds(_ text: String) -> Int64? {
        guard let parts = TimeUnit.parts(of: text, m: .minutes) else { return nil }
        var sum: Int64 = 0
        for (number, unit) in parts {
            guard let seconds = unit.secondCount else { return nil }
            sum += Int64(number) * seconds
        }
        return (60...366 * 86_400).contains(sum) ? sum : nil
    }

    /// In a form that can be parsed again.
    public var text: String {
        switch self {
        case .off: "off"
        case .interval(_, let text): text
        case .calendar(let expression): expression.text
        }
    }

    /// - Throws: `usage` when no backup will ever be due: all its days are in the past.
    public func requireTime(after now: Timestamp) throws(BackupError) {
        guard self != .off, next(after: now) == nil else { return }
        throw BackupError(
            .usage, "“\(MessageText.shortened(text))” is not a schedule: such a day never comes",
            remedy: "Write days that the calendar has.")
    }

    /// When the next backup is due.
    /// - Parameter last: when the previous one was due or made.
    /// - Returns: a time that may already be past; `nil` for never.
    public func next(after last: Timestamp) -> Timestamp? {
        switch self {
        case .off: nil
        case .interval(let seconds, _): Timestamp(seconds: last.seconds + seconds, nanoseconds: last.nanoseconds)
        case .calendar(let expression): expression.next(after: last)
        }
    }
}
