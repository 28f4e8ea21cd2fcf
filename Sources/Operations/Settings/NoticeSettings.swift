/// The user's command that reports the end of requested operations, and failures of automatic backups. From `store.yaml`.
public struct NoticeSettings: Sendable, Equatable {
    static let standardFailureLimit = 3
    static let failureLimitRange = 1...1_000
    static let standardOverdueDays = 3
    static let overdueDaysRange = 1...3_650

    public var command: String?
    /// Whether to run it; `nil` for the app definition's default.
    public var isOn: Bool?
    /// Which automatic backups are reported, by this command and by `automatic-hook`.
    public var automatic = AutomaticNotices.failures
    /// The number of consecutive failures of automatic backups before a notice.
    public var failureLimit = Self.standardFailureLimit
    /// The number of days that a backup must have been due, without success, before a notice.
    public var overdueDays = Self.standardOverdueDays

    public init() {}
}
