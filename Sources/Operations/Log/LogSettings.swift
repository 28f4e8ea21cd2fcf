/// What is logged, and where. From `store.yaml`.
public struct LogSettings: Sendable, Equatable {
    static let defaultLimitBytes = 1 << 20
    static let defaultOldFileCount = 4
    static let limitBytesRange = 4_096...(1 << 40)
    static let oldFileCountRange = 0...100

    /// `nil` for the journal where systemd runs the program as a service, and the file elsewhere.
    public var destination: LogDestination?
    public var level = LogLevel.info
    /// Absolute, or relative to the store's folder; `nil` for `backupfs.log` in it.
    public var path: String?
    /// A file that would become larger is begun anew.
    public var limitBytes = LogSettings.defaultLimitBytes
    /// How many of those before it stay.
    public var oldFileCount = LogSettings.defaultOldFileCount

    public init() {}
}
