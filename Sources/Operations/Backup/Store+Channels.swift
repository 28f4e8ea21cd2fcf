import AppData
import BackupCore
import BackupRepository

extension Store {
    /// Whether the app's backups are of one channel or the other.
    public var hasChannels: Bool { definition.fileNames.hasChannels }

    /// The channel of a new backup.
    /// - Parameter asked: goes before the settings.
    /// - Returns: `nil` for an app that has none.
    /// - Throws: `notSupported` when one is asked for and the app has none.
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
    /// The attribute that says so; there only for what is not of production, as all backups are that were made before there were channels.
    static let channelAttribute = "channel"

    /// Of which version of the app it is.
    public var channel: Channel {
        record.attributes[Self.channelAttribute].flatMap { Channel(rawValue: $0) } ?? .production
    }
}
