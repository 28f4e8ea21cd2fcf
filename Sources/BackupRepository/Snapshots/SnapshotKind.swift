/// Why a snapshot was made. The raw values are part of the repository format.
public enum SnapshotKind: UInt8, Sendable, CaseIterable {
    /// A backup on request or by schedule.
    case snapshot = 0
    /// Made by a restore, of the data it was about to replace.
    case safety = 1
}
