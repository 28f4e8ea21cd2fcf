import BackupCore
import SystemIO

/// Which unneeded packs of a repository in an object storage a prune removes, and which wait: see `DoomedPacks`.
struct PackDoom {
    private let layout: RepositoryLayout
    private var lists: [DoomedPacks]
    /// All packs in the lists.
    let packs: Set<PackID>
    /// Those that have been in one long enough.
    private var due: Set<PackID>
    /// Those that are in a list of the storage.
    private var listed: Set<PackID>
    /// Those that this prune has found unneeded first.
    private var new: [PackID] = []

    /// - Returns: `nil` for a repository in a folder, whose locks are certain.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion` for a list; errors of the storage.
    init?(_ layout: RepositoryLayout) throws(BackupError) {
        guard layout.upstream != nil else { return nil }
        self.layout = layout
        lists = try DoomedPacks.read(in: layout)
        packs = Set(lists.flatMap(\.packs))
        listed = packs
        guard !lists.isEmpty else {
            due = []
            return
        }
        let now = try Self.now(layout)
        due = Set(lists.filter { now.secondsSince($0.since) >= DoomedPacks.graceSeconds }.flatMap(\.packs))
    }

    /// By the storage's clock: that of this machine may be wrong, and the packs would be removed too early.
    private static func now(_ layout: RepositoryLayout) throws(BackupError) -> Timestamp {
        do throws(BackupError) {
            return try layout.lockNotes.now()
        } catch {
            // A dry run with credentials that may only read.
            guard [.readOnly, .accessDenied, .notPermitted].contains(error.code) else { throw error }
            return SystemClock.systemTime()
        }
    }

    /// Whether an unneeded pack stays for now.
    mutating func mustWait(_ pack: PackID) -> Bool {
        if due.contains(pack) { return false }
        if !listed.contains(pack) { new.append(pack) }
        return true
    }

    /// Changes the summary of a plan to what a prune would do.
    func foresee(_ plan: PrunePlan, _ summary: inout PruneSummary) {
        for pack in plan.unused.map({ plan.inventory.packs[$0] }) where !due.contains(pack.id) {
            summary.removedPackCount -= 1
            summary.waitingPackCount += 1
            summary.waitingByteCount += pack.byteCount
        }
        for pack in plan.rewritten.map({ plan.inventory.packs[$0] }) {
            summary.waitingPackCount += 1
            summary.waitingByteCount += pack.byteCount
        }
        summary.freedByteCount =
            summary.freedByteCount > summary.waitingByteCount ? summary.freedByteCount - summary.waitingByteCount : 0
    }

    /// Stores the list of this prune, and brings the others in line with it: a pack that was removed, or that a backup needs
    /// after all, is in none.
    /// - Parameter needed: the packs of which at least one chunk is needed.
    mutating func record(needed: Set<PackID>, _ lock: RepositoryLock) throws(BackupError) {
        var waiting = new
        for list in lists {
            let kept = list.packs.filter { !due.contains($0) && !needed.contains($0) }
            guard kept.count < list.packs.count else { continue }
            // Stored again below, so that their time begins again.
            waiting += kept
        }
        try lock.requireHeld()
        if !waiting.isEmpty {
            try layout.publish(
                DoomedPacks.encode(Array(Set(waiting)).sorted()),
                to: "\(layout.doomed)/\(RandomToken.make())\(DoomedPacks.nameExtension)", beforeRename: lock.requireHeld)
        }
        try FaultInjection.reached("prune.doomed")
        for list in lists where list.packs.contains(where: { due.contains($0) || needed.contains($0) }) {
            try lock.requireHeld()
            try layout.remove(list.path)
        }
        // What comes after this is a list of its own. A pack that was needed is in none now: should it be rewritten, its time
        // begins again.
        (new, lists) = ([], [])
        due.subtract(needed)
        listed.subtract(needed)
    }
}

extension Repository {
    /// Whether a prune would give up a removed snapshot now, or remove packs that an earlier one has listed. Sends no request:
    /// for a repository in an object storage that has just been refreshed. By the clock of this machine, so that a prune may
    /// still find nothing to do.
    /// - Throws: `repositoryDamaged`, `unsupportedVersion` for a list; errors of reading.
    public func isPruneDue(_ grace: RemovalGrace) throws(BackupError) -> Bool {
        let now = SystemClock.systemTime()
        if try DoomedPacks.read(in: layout).contains(where: { now.secondsSince($0.since) >= DoomedPacks.graceSeconds }) {
            return true
        }
        return try snapshotStore.readRemoved().snapshots.contains { grace.isOver(for: $0) }
    }
}
