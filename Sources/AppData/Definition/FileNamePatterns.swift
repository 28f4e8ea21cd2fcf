import BackupCore
import SystemIO

/// The app's own names for its files.
public struct FileNamePatterns: Sendable, Equatable {
    /// For the export of a backup.
    public let export: FileNamePattern
    private let backup: FileNamePattern
    /// For safety backups.
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

/// A file name that contains the local time.
public struct FileNamePattern: Sendable, Equatable {
    /// `yyyy-MM-dd_HH-mm-ss`, and `yyyyMMdd_HHmmss`.
    static let placeholders = ["{stamp}", "{compactStamp}"]
    /// The definition's text for the channel.
    static let channelPlaceholder = "{channel}"

    private let prefix: String
    private let suffix: String
    /// Whether the stamp has no hyphens.
    private let isCompact: Bool
    private let hasChannel: Bool

    /// - Parameter channels: the possible texts for `{channel}`, which must then occur exactly once; `nil` where it has no
    ///   meaning.
    /// - Returns: `nil` unless one of the placeholders occurs exactly once and the rest can be part of a file name.
    public init?(_ pattern: String, channels: [String]? = nil) {
        let found = Self.placeholders.filter { pattern.contains($0) }
        guard found.count == 1 else { return nil }
        let parts = pattern.split(separator: found[0], omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if channels != nil {
            guard pattern.split(separator: Self.channelPlaceholder, omittingEmptySubsequences: false).count == 2 else {
                return nil
            }
        }
        hasChannel = channels != nil
        isCompact = found[0] == Self.placeholders[1]
        prefix = String(parts[0])
        suffix = String(parts[1])
        for channel in channels ?? [""] {
            guard FileName(name(stamp: "0000-00-00_00-00-00", channel: channel)).isSafeComponent else { return nil }
        }
    }

    /// `ev_charging_tracker_export_2026-01-11_14-30-00.json`.
    public func name(at time: Timestamp) -> String { name(stamp: SystemClock.localStamp(time)) }

    /// The name with a stamp from the caller (a second file within one second gets `_2`).
    /// - Parameter channel: the text for the channel
    public func name(stamp: String, channel: String = "") -> String {
        let stamp = isCompact ? stamp.filter { $0 != "-" } : stamp
        guard hasChannel else { return prefix + stamp + suffix }
        return [prefix, suffix].map { $0.replacing(Self.channelPlaceholder, with: channel) }.joined(separator: stamp)
    }
}

/// The app's folder of photos or attachments.
public struct MediaDefinition: Sendable, Equatable {
    /// The folder's path relative to the database's folder.
    public let folder: String
    /// The naming of records' files in archives.
    public private(set) var archiveNaming = ArchiveNaming.plain
    /// Whether snapshots also show the files by `StorageKey`.
    public private(set) var hasStorageView = false
    /// Whether the files are photos and videos: backups then have what these say of themselves, and show them by date and camera.
    public private(set) var hasPhotos = false
    /// How a merge recognises a file that exists.
    public private(set) var duplicates = MediaIdentity.name
    /// The thumbnails of photos in the app's archives; `nil` for an app whose archives have none.
    public private(set) var archiveThumbnails: ArchiveThumbnails?
}

/// What makes two media files the same to an app.
public enum MediaIdentity: String, Sendable, CaseIterable {
    /// The name and the bytes.
    case name
    /// The bytes alone, whatever the names: the photos of two phones.
    case content
}

/// The names of records' files in the app's archive.
public enum ArchiveNaming: String, Sendable, CaseIterable {
    /// As in the media folder.
    case plain
    /// With the key of their record: `7_beach.jpg`. A name that already begins so stays. One that becomes too long is shortened,
    /// and keeps its extension.
    case keyed

    /// - Parameters:
    ///   - path: the file's path below the media folder.
    ///   - key: the record's key, as text.
    public func name(of path: [UInt8], key: String) -> [UInt8] {
        guard self == .keyed else { return path }
        let name = BytePath.lastComponent(of: path)
        let prefix = Array("\(key)_".utf8)
        return name.starts(with: prefix) && name.count > prefix.count ? name : FileName.fitting(prefix + name)
    }
}
