/// The log settings from `store.yaml`.
public struct LogSettings: Sendable, Equatable {
    static let defaultLimitBytes = 1 << 20
    static let defaultOldFileCount = 4
    static let limitBytesRange = 4_096...(1 << 40)
    static let oldFileCountRange = 0...100

    /// `nil` for the journal where systemd runs the program as a service, and for the file elsewhere.
    public var destination: LogDestination?
    public var level = LogLevel.info
    /// Absolute, or relative to the store's folder; `nil` for `backupfs.log` in it.
    public var path: String?
    /// A file that would exceed this is rotated.
    public var limitBytes = LogSettings.defaultLimitBytes
    /// How many rotated files to keep.
    public var oldFileCount = LogSettings.defaultOldFileCount

    public init() {}
}
