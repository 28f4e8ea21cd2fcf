import BackupCore

/// What a copy does with one snapshot.
public enum CopyVerdict: Sendable {
    /// It is copied.
    case copy
    /// The target has it, or a copy of it.
    case isThere(Snapshot)
    /// It was removed from the target, and can still be brought back there.
    case wasRemoved
}

/// How snapshots of one repository are recognised in another one: by the ID of the snapshot that all copies go back to.
struct CopyCatalog {
    private var copies: [SnapshotID: Snapshot] = [:]
    private let removed: Set<SnapshotID>

    /// Looks at the target.
    init(_ target: Repository) throws(BackupError) {
        removed = Set(try target.removedSnapshots().map(\.snapshot.originalID))
        for snapshot in target.snapshots() { note(snapshot) }
    }

    /// Of several copies, the oldest counts.
    mutating func note(_ copy: Snapshot) {
        if copies[copy.originalID] == nil { copies[copy.originalID] = copy }
    }

    /// The copy of a snapshot of the source.
    func copy(of snapshot: Snapshot) -> Snapshot? { copies[snapshot.originalID] }

    /// The copy of a snapshot that may not be in the source any more.
    func copy(of id: SnapshotID, in source: Repository) -> Snapshot? {
        copies[source.snapshot(id: id)?.originalID ?? id]
    }

    /// - Parameter isNamed: whether the user has named the snapshot: then it is copied although it was removed.
    func verdict(on snapshot: Snapshot, isNamed: Bool) -> CopyVerdict {
        if let copy = copy(of: snapshot) { return .isThere(copy) }
        return !isNamed && removed.contains(snapshot.originalID) ? .wasRemoved : .copy
    }
}
