import AppData

/// The handling of old backups after a new one. From `store.yaml`.
public struct RetentionSettings: Sendable, Equatable {
    /// Whether to remove any.
    public var isOn = true
    /// Whether to free the space of removed backups at intervals.
    public var prunes = true
    /// The number of days during which a removed backup can be brought back.
    public var undeleteDays = Self.standardUndeleteDays
    /// `nil` for the app definition's default.
    public var counted: CountedBackups?
    /// Which backups to keep; empty for the app definition's default.
    public var policy = RetentionPolicy()

    static let standardUndeleteDays = 7
    static let undeleteDaysRange = 0...3_650

    public init() {}
}
