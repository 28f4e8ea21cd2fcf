/// A command of the user's that tells how what was asked for has ended, and when automatic backups fail. From `store.yaml`.
public struct NoticeSettings: Sendable, Equatable {
    static let standardFailureLimit = 3
    static let failureLimitRange = 1...1_000
    static let standardOverdueDays = 3
    static let overdueDaysRange = 1...3_650

    public var command: String?
    /// Whether it is run; `nil` for what the app's definition says.
    public var isOn: Bool?
    /// What of automatic backups is told, by it and by the command `automatic-hook`.
    public var automatic = AutomaticNotices.failures
    /// After how many automatic backups in a row have failed.
    public var failureLimit = Self.standardFailureLimit
    /// For how many days one must have been due, and none made.
    public var overdueDays = Self.standardOverdueDays

    public init() {}
}
