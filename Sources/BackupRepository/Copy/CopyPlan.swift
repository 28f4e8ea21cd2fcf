import BackupCore

/// What a copy does with one snapshot.
public enum CopyVerdict: Sendable {
    /// It is copied.
    case copy
    /// The target has it, or a copy of it.
    case isThere(Snapshot)
    /// The target has it, or a copy of it, and has lost data of it: what is lacking is copied.
    case isIncomplete(Snapshot)
    /// It was removed from the target, and can still be brought back there.
    case wasRemoved
}

/// How snapshots of one repository are recognised in another one: by the ID of the snapshot that all copies go back to.
struct CopyCatalog {
    private var copies: [SnapshotID: [Snapshot]] = [:]
    private let removed: Set<SnapshotID>

    /// Looks at the target.
    init(_ target: Repository) throws(BackupError) {
        removed = Set(try target.removedSnapshots().map(\.snapshot.originalID))
        for snapshot in target.snapshots() { note(snapshot) }
    }

    mutating func note(_ copy: Snapshot) { copies[copy.originalID, default: []].append(copy) }

    /// The copies of a snapshot of the source, the oldest first.
    func copies(of snapshot: Snapshot) -> [Snapshot] { copies[snapshot.originalID] ?? [] }

    /// The copy of a snapshot of the source. Of several copies, the oldest counts.
    func copy(of snapshot: Snapshot) -> Snapshot? { copies(of: snapshot).first }

    /// The copy of a snapshot that may not be in the source any more.
    func copy(of id: SnapshotID, in source: Repository) -> Snapshot? {
        copies[source.snapshot(id: id)?.originalID ?? id]?.first
    }

    /// - Parameters:
    ///   - isNamed: whether the user has named the snapshot: then it is copied although it was removed.
    ///   - isIntact: whether the target has all data of a copy.
    func verdict(
        on snapshot: Snapshot, isNamed: Bool, isIntact: (Snapshot) throws(BackupError) -> Bool
    ) throws(BackupError) -> CopyVerdict {
        let copies = copies(of: snapshot)
        for copy in copies where try isIntact(copy) { return .isThere(copy) }
        if let copy = copies.first { return .isIncomplete(copy) }
        return !isNamed && removed.contains(snapshot.originalID) ? .wasRemoved : .copy
    }
}
