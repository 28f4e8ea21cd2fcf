import BackupCore

/// The packs that backups of this process need, as their writers have seen them.
struct KnownNeeds {
    /// Of packs in all backups together: a few megabytes.
    private static let countLimit = 1 << 16

    private var needs: [(snapshot: SnapshotID, packs: Set<PackID>)] = []

    /// The packs that a snapshot needs; `nil` if they are not known.
    func packs(of snapshot: SnapshotID) -> Set<PackID>? { needs.last { $0.snapshot == snapshot }?.packs }

    mutating func note(_ packs: Set<PackID>, of snapshot: SnapshotID) {
        needs.append((snapshot, packs))
        var count = needs.reduce(0) { $0 + $1.packs.count + 1 }
        while count > Self.countLimit { count -= needs.removeFirst().packs.count + 1 }
    }
}
