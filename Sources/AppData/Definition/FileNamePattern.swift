import BackupCore
import SystemIO

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

    /// - Parameter channels: the possible texts for `{channel}`, which must then occur exactly once; `nil` where it has no meaning.
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
