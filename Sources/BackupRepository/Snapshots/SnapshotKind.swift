/// Why a snapshot was made. The raw values are part of the repository format.
public enum SnapshotKind: UInt8, Sendable, CaseIterable {
    /// A backup that somebody asked for.
    case snapshot = 0
    /// Made by a restore, of what it was about to replace.
    case safety = 1
}
