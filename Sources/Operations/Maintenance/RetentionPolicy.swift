import BackupCore

/// Which backups are kept. What keeps one is enough; the newest and pinned ones are always kept.
public struct RetentionPolicy: Sendable, Equatable {
    /// How many of a kind are kept.
    public enum Limit: Sendable, Equatable {
        case count(Int)
        case unlimited

        var text: String {
            switch self {
            case .count(let count): "\(count)"
            case .unlimited: "unlimited"
            }
        }

        /// A number from 1 on, or `unlimited`.
        /// - Throws: `usage`.
        public init(parsing text: String) throws(BackupError) {
            if text == "unlimited" {
                self = .unlimited
                return
            }
            guard let number = Int(text), (1...1_000_000).contains(number) else {
                throw BackupError(
                    .usage, "takes a number from 1 on, or unlimited, not “\(MessageText.shortened(text))”",
                    remedy: "Leave it out to keep nothing by it.")
            }
            self = .count(number)
        }
    }

    public var last: Limit?
    public var hourly: Limit?
    public var daily: Limit?
    public var weekly: Limit?
    public var monthly: Limit?
    public var yearly: Limit?
    /// All that were made within this time before the newest.
    public var within: RetentionPeriod?
    /// Lists of tags: a backup that has all tags of one of them is kept.
    public var tags: [[String]] = []

    public init() {}

    public var isEmpty: Bool { self == RetentionPolicy() }

    /// What it says, as the settings have it.
    var description: [(name: String, value: String)] {
        let limits = [
            ("keep-last", last), ("keep-hourly", hourly), ("keep-daily", daily), ("keep-weekly", weekly),
            ("keep-monthly", monthly),
            ("keep-yearly", yearly),
        ]
        return limits.compactMap { name, limit in limit.map { (name, $0.text) } }
            + (within.map { [("keep-within", $0.text)] } ?? [])
    }
}

/// A length of time as people count it: a month before March 31 is the last of February or a day or two after it, as restic has it.
public struct RetentionPeriod: Sendable, Equatable {
    public var years = 0
    public var months = 0
    public var days = 0
    public var hours = 0
    /// As it was given.
    public let text: String

    /// `2y5m7d3h`, each part at most once and none needed, as restic takes it.
    /// - Throws: `usage`.
    public init(parsing text: String) throws(BackupError) {
        self.text = text
        var rest = text[...]
        var seen: Set<Character> = []
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            guard let number = Int(digits), number <= 100_000, let unit = rest.popFirst(), seen.insert(unit).inserted else {
                throw Self.unusable(text)
            }
            switch unit {
            case "y": years = number
            case "m": months = number
            case "d": days = number
            case "h": hours = number
            default: throw Self.unusable(text)
            }
        }
        guard years + months + days + hours > 0 else { throw Self.unusable(text) }
    }

    private static func unusable(_ text: String) -> BackupError {
        BackupError(
            .usage, "“\(MessageText.shortened(text))” is no length of time",
            remedy: "Give years, months, days and hours, such as 1y6m or 30d.")
    }
}
