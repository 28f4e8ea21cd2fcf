import BackupCore
import SystemIO

/// A file's name with the local time in it.
public struct FileNamePattern: Sendable, Equatable {
    /// `yyyy-MM-dd_HH-mm-ss`, and `yyyyMMdd_HHmmss`.
    static let placeholders = ["{stamp}", "{compactStamp}"]
    /// What the definition says for the channel.
    static let channelPlaceholder = "{channel}"

    private let prefix: String
    private let suffix: String
    /// Whether the stamp has no hyphens.
    private let isCompact: Bool
    private let hasChannel: Bool

    /// - Parameter channels: what may stand for `{channel}`, which must then be in it exactly once; `nil` where it means nothing.
    /// - Returns: `nil` unless one of the placeholders stands in it exactly once and the rest can be part of a file's name.
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

    /// The name with a stamp that the caller has made (a second within one second gets `_2`).
    /// - Parameter channel: what stands for the channel.
    public func name(stamp: String, channel: String = "") -> String {
        let stamp = isCompact ? stamp.filter { $0 != "-" } : stamp
        guard hasChannel else { return prefix + stamp + suffix }
        return [prefix, suffix].map { $0.replacing(Self.channelPlaceholder, with: channel) }.joined(separator: stamp)
    }
}
