import BackupCore

/// All snapshots that are visible at one moment.
struct SnapshotList: Sendable {
    /// Oldest first.
    let snapshots: [Snapshot]
    /// The errors of unreadable records and labels.
    let damages: [BackupError]
    /// Snapshots that lack the label that the register names. They count as pinned, and have their first name.
    let missingLabels: [SnapshotID]
    /// Why it is unknown which labels are missing: the register cannot be read.
    let registerError: BackupError?
    /// With the names that their records and labels have, in no particular order.
    let recorded: [Snapshot]
    private let byName: [FileName: Int]
    private let byID: [SnapshotID: Int]

    static let empty = SnapshotList([], damages: [])

    /// A name that is already in use gets a part of the snapshot's ID appended, so that no snapshot is hidden.
    init(
        _ unsorted: [Snapshot], damages: [BackupError], missingLabels: [SnapshotID] = [], registerError: BackupError? = nil
    ) {
        self.missingLabels = missingLabels
        self.registerError = registerError
        var sorted = unsorted.sorted(by: Snapshot.precedes)
        var byName: [FileName: Int] = [:]
        var byID: [SnapshotID: Int] = [:]
        for index in sorted.indices {
            if byName[sorted[index].name] != nil {
                let suffix = "~\(sorted[index].id.hexadecimal.prefix(8))"
                let kept = sorted[index].name.bytes.prefix(FileName.byteCountLimit - suffix.utf8.count)
                sorted[index] = sorted[index].named(FileName(bytes: kept + Array(suffix.utf8)))
            }
            byName[sorted[index].name] = index
            byID[sorted[index].id] = index
        }
        snapshots = sorted
        recorded = unsorted
        self.damages = damages
        self.byName = byName
        self.byID = byID
    }

    subscript(name: FileName) -> Snapshot? { byName[name].map { snapshots[$0] } }
    subscript(id: SnapshotID) -> Snapshot? { byID[id].map { snapshots[$0] } }
}
