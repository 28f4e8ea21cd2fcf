/// The app's own names for its files.
public struct FileNamePatterns: Sendable, Equatable {
    public let export: FileNamePattern
    private let backup: FileNamePattern
    public let safety: FileNamePattern
    private let channels: [Channel: String]?

    /// - Parameter channels: the texts for `{channel}` in the name of a backup; `nil` for an app without channels.
    init(export: FileNamePattern, backup: FileNamePattern, safety: FileNamePattern, channels: [Channel: String]?) {
        self.export = export
        self.backup = backup
        self.safety = safety
        self.channels = channels
    }

    /// Whether the app's backups belong to channels.
    public var hasChannels: Bool { channels != nil }

    /// `ev_charging_tracker_backup_dev_2026-01-11_14-30-00.json`.
    public func backupName(stamp: String, _ channel: Channel) -> String {
        backup.name(stamp: stamp, channel: channels?[channel] ?? "")
    }
}
