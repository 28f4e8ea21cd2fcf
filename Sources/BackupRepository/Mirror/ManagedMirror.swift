import BackupCore
import ObjectStorage
import SystemIO

/// The packs that an update of a mirror has to upload.
struct MirrorNeeds {
    /// Packs of this repository with a chunk that the mirror lacks.
    var packs: Set<PackID> = []
    /// Packs like these that the mirror has, but is going to remove. The same name cannot be stored beside them.
    var blocked: Set<PackID> = []
}

/// A mirror from which backups are removed. It need not have all packs of the repository, and may have the same chunks in packs
/// of its own, so chunks are compared, not packs.
struct ManagedMirror {
    private let repository: Repository
    private let selection: MirrorSelection
    /// The snapshots that belong into the mirror.
    private let chosen: Set<SnapshotID>
    /// `nil` before the first update.
    private var copy: Repository?
    /// What the snapshots need that belong into the mirror; `nil` until it is asked for.
    private var needed: NeededChunks?

    /// - Returns: `nil` for a mirror that only grows.
    /// - Throws: `notSupported` for a mirror from which backups are removed, without a selection; errors of opening it.
    init?(
        of repository: Repository, in storage: any ObjectStorage, _ present: [MirrorObject: ObjectFacts],
        _ selection: MirrorSelection?
    ) throws(BackupError) {
        guard let selection else {
            guard present.keys.contains(where: \.showsRemovals) else { return nil }
            throw BackupError(.notSupported, "backups are removed from this copy", path: storage.location)
        }
        guard selection.isPartial || present.keys.contains(where: \.showsRemovals) else {
            return nil
        }
        self.repository = repository
        self.selection = selection
        if present[.configuration] != nil { copy = try selection.openCopy() }
        chosen = try selection.choose(copy)
    }

    /// Whether a snapshot of the repository belongs into the mirror.
    func includes(_ id: SnapshotID) -> Bool { chosen.contains(id) }

    /// The snapshots of the repository that belong into the mirror.
    private var snapshots: [Snapshot] { repository.snapshots().filter { includes($0.id) } }

    /// Whether the mirror lacks the record of a snapshot that belongs into it.
    func lacksRecords(_ present: [MirrorObject: ObjectFacts]) -> Bool {
        snapshots.contains { present[.snapshot($0.id)] == nil }
    }

    /// Keeps prunes of other machines away from the mirror, and brings what is known of it up to date.
    /// - Throws: `busy` while one runs.
    mutating func lock() throws(BackupError) -> RepositoryLock {
        let known: Repository
        if let copy { known = copy } else { known = try selection.openCopy() }
        copy = known
        return try RepositoryLock(known.layout, .keepingPacks, operation: "sync")
    }

    /// How often folders were walked through.
    var walkCount: Int { needed?.walkCount ?? 0 }

    /// Whether the last answer of `needs` has all packs of a snapshot. False also for one that came later: it waits for the next
    /// update.
    func isCovered(_ id: SnapshotID) -> Bool { needed?.isComplete(id) == true }

    /// Whether data of the snapshot is missing here, by the walk of the last answer.
    func isIncomplete(_ id: SnapshotID) -> Bool { needed?.incomplete.contains(id) == true }

    /// Walks through all that belongs into the mirror, if it lacks a record of it. Later calls only look which packs are here and
    /// there by then.
    /// - Throws: errors of reading the packs' indexes.
    mutating func needs(_ present: [MirrorObject: ObjectFacts]) throws(BackupError) -> MirrorNeeds {
        var needs = MirrorNeeds()
        guard selection.isThorough || lacksRecords(present) else { return needs }
        let doomed = copy.map { DoomedPacks.all(in: $0.layout) } ?? []
        var there = try copy.map { (copy) throws(BackupError) in try PackInventory(copy.catalog) }
        for pack in there?.packs ?? [] where doomed.contains(pack.id) || present[.pack(pack.id)] == nil {
            for row in pack.firstRow..<pack.firstRow + pack.chunkCount { there?.table.setDamaged(row) }
        }
        let needed: NeededChunks
        if let known = self.needed { needed = known } else { needed = try NeededChunks(of: repository) }
        self.needed = needed
        try needed.update(snapshots)
        let inventory = needed.inventory
        for pack in inventory.packs {
            let rows = pack.firstRow..<pack.firstRow + pack.chunkCount
            let isNeeded = rows.contains { row in
                guard inventory.table.isNeeded(row) else { return false }
                let key = inventory.table.rows[row].key
                return there?.table.hasUsable(key) != true
            }
            guard isNeeded else { continue }
            if doomed.contains(pack.id) { needs.blocked.insert(pack.id) } else { needs.packs.insert(pack.id) }
        }
        return needs
    }
}

extension Repository {
    /// Whether machines make backups in it: of an object storage, as last read. It is no copy then.
    public var isPrimary: Bool { (try? FileSystem.exists(layout.primaryMark)) != false }
}
