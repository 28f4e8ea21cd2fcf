import AppData
import BackupCore
import BackupRepository

extension Store {
    /// Whether the app's backups belong to channels.
    public var hasChannels: Bool { definition.fileNames.hasChannels }

    /// The channel of a new backup.
    /// - Parameter asked: overrides the settings.
    /// - Returns: `nil` for an app without channels.
    /// - Throws: `notSupported` when a channel is requested and the app has none.
    func channel(_ asked: Channel? = nil) throws(BackupError) -> Channel? {
        try Self.channel(asked ?? settings.channel, definition)
    }

    static func channel(_ asked: Channel?, _ definition: AppDefinition) throws(BackupError) -> Channel? {
        if definition.fileNames.hasChannels { return asked ?? .production }
        guard asked != nil else { return nil }
        throw BackupError(
            .notSupported, "\(definition.title) has no channels",
            remedy: "Leave out --channel, and remove channel from the settings.")
    }
}

extension Snapshot {
    /// The attribute with the channel. It is absent for production, which includes all backups from before there were channels.
    static let channelAttribute = "channel"

    /// The channel of the app that the backup is from.
    public var channel: Channel {
        record.attributes[Self.channelAttribute].flatMap { Channel(rawValue: $0) } ?? .production
    }
}
