import AppData

/// What happens to old backups after a new one. From `store.yaml`.
public struct RetentionSettings: Sendable, Equatable {
    /// Whether any are removed.
    public var isOn = true
    /// Whether the room of those that were removed is given back now and then.
    public var prunes = true
    /// For how many days a backup that was removed can be brought back.
    public var undeleteDays = Self.standardUndeleteDays
    /// `nil` for what the app's definition says.
    public var counted: CountedBackups?
    /// What stays; empty for what the app's definition says.
    public var policy = RetentionPolicy()

    static let standardUndeleteDays = 7
    static let undeleteDaysRange = 0...3_650

    public init() {}
}
