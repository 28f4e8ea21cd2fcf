import BackupCore
import SystemIO

/// A file's name with the local time in it.
public struct FileNamePattern: Sendable, Equatable {
    /// `yyyy-MM-dd_HH-mm-ss`, and `yyyyMMdd_HHmmss`.
    static let placeholders = ["{stamp}", "{compactStamp}"]

    public let prefix: String
    public let suffix: String
    /// Whether the stamp has no hyphens.
    public let isCompact: Bool

    /// - Returns: `nil` unless one of the placeholders stands in it exactly once and the rest can be part of a file's name.
    public init?(_ pattern: String) {
        let found = Self.placeholders.filter { pattern.contains($0) }
        guard found.count == 1 else { return nil }
        let parts = pattern.split(separator: found[0], omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        isCompact = found[0] == Self.placeholders[1]
        prefix = String(parts[0])
        suffix = String(parts[1])
        guard FileName(prefix + "0000-00-00_00-00-00" + suffix).isSafeComponent else { return nil }
    }

    /// `ev_charging_tracker_backup_2026-01-11_14-30-00.json`.
    public func name(at time: Timestamp) -> String { name(stamp: SystemClock.localStamp(time)) }

    /// The name with a stamp that the caller has made (a second within one second gets `_2`).
    public func name(stamp: String) -> String { prefix + (isCompact ? stamp.filter { $0 != "-" } : stamp) + suffix }
}
