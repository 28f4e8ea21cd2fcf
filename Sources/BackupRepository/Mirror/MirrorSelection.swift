import BackupCore

/// What an update of a mirror needs to know where backups are removed from the mirror as well.
public struct MirrorSelection {
    /// Opens the mirror as a repository that can be changed, after asking the storage what is there.
    let openCopy: () throws(BackupError) -> Repository
    /// Which of this repository's snapshots belong into the mirror. Called with the mirror as a repository, or with `nil` before
    /// the first update of it.
    let choose: (_ copy: Repository?) throws(BackupError) -> Set<SnapshotID>
    /// Whether some snapshots may not belong into the mirror, also where nothing was removed from it yet.
    public let isPartial: Bool
    /// Whether packs that backups in the mirror need are looked for, too, and uploaded again when they are gone.
    let isThorough: Bool

    /// - Parameters:
    ///   - isPartial: whether some snapshots may not belong into the mirror, also where nothing was removed from it yet.
    ///   - isThorough: whether packs that backups in the mirror need are uploaded again when they are gone.
    ///   - openCopy: opens the mirror as a repository that can be changed, after asking the storage what is there. Called only if
    ///     backups are removed from it.
    ///   - choose: which of this repository's snapshots belong into the mirror. Called with the mirror as a repository, or with
    ///     `nil` before the first update of it.
    public init(
        isPartial: Bool, isThorough: Bool = false, openCopy: @escaping () throws(BackupError) -> Repository,
        choose: @escaping (_ copy: Repository?) throws(BackupError) -> Set<SnapshotID>
    ) {
        self.isPartial = isPartial
        self.isThorough = isThorough
        self.openCopy = openCopy
        self.choose = choose
    }
}
