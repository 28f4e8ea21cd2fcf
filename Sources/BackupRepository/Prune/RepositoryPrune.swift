import BackupCore
import SystemIO

/// Frees the space of data that no snapshot needs.
///
/// Packs without any needed chunk are removed. From packs with too much unused data, the needed chunks are first copied to new
/// packs, unchanged. The new packs are durable, published and in the catalog before the old ones are unlinked, so every needed
/// chunk is in a published pack at all times. A prune may be killed at any point; the next one continues from there. A reader
/// finds chunks in their new places meanwhile.
public struct RepositoryPrune {
    private let repository: Repository
    private let maxUnused: UnusedLimit
    private let grace: RemovalGrace
    private let allowsEmpty: Bool
    private let forgetsMissing: Bool
    private let progress: ProgressHandler?
    private let youngPacks: RecentPacks.Rule

    /// - Parameters:
    ///   - grace: which removed snapshots can still be undeleted; their data stays.
    ///   - allowsEmpty: whether everything is removed when there are packs but no snapshot. A partly copied repository looks like
    ///     that.
    ///   - forgetsMissing: whether snapshots with missing records are given up, and chunks whose packs are missing or unreadable.
    public init(
        _ repository: Repository, maxUnused: UnusedLimit = .standard, grace: RemovalGrace = RemovalGrace(now: SystemClock.now()),
        allowsEmpty: Bool = false, forgetsMissing: Bool = false, progress: ProgressHandler? = nil
    ) {
        self.init(
            repository, maxUnused: maxUnused, grace: grace, allowsEmpty: allowsEmpty, forgetsMissing: forgetsMissing,
            youngPacks: .onSharedStorage, progress: progress)
    }

    /// - Parameter youngPacks: which packs are left alone because of their age.
    init(
        _ repository: Repository, maxUnused: UnusedLimit, grace: RemovalGrace = RemovalGrace(now: SystemClock.now()),
        allowsEmpty: Bool = false, forgetsMissing: Bool = false, youngPacks: RecentPacks.Rule, progress: ProgressHandler? = nil
    ) {
        self.repository = repository
        self.youngPacks = youngPacks
        self.maxUnused = maxUnused
        self.grace = grace
        self.allowsEmpty = allowsEmpty
        self.forgetsMissing = forgetsMissing
        self.progress = progress
    }

    /// What a prune would do. Changes nothing.
    /// - Throws: `repositoryDamaged` when it is unknown which data is needed.
    public func plan() throws(BackupError) -> PruneSummary {
        let lock = try RepositoryLock(repository.layout, .keepingPacks, operation: "prune --dry-run")
        defer { withExtendedLifetime(lock) {} }
        try repository.refresh()
        let visible = repository.snapshots()
        let removed = try repository.snapshotStore.readRemoved()
        _ = try requireWhole(visible, removed)
        let kept = removed.snapshots.filter { !grace.isOver(for: $0) }.map(\.snapshot)
        let inventory = try PackInventory(repository.catalog, progress: progress)
        try pruneGuard.requireReadable(inventory)
        let doomed = try PackDoom(repository.layout)
        let plan = try plan(visible + kept, inventory, doomed)
        var summary = plan.summary
        if let doomed { doomed.foresee(plan, &summary) }
        noteWhatKeeps(removed.snapshots, &summary)
        return summary
    }

    /// Records why removed snapshots stay longer than a user may expect.
    private func noteWhatKeeps(_ removed: [RemovedSnapshot], _ summary: inout PruneSummary) {
        summary.clockHeldRemovalCount = removed.count(where: grace.isHeldByClock)
        summary.untimedRemovals = repository.snapshotStore.untimedRemovals(among: removed, at: grace.now)
        // If the document of a source is missing or unreadable, its grace period is unknown, and the longest one is assumed.
        if !removed.isEmpty { summary.leftAlone += repository.sourceProblems() }
    }

    private var pruneGuard: PruneGuard { PruneGuard(repository, allowsEmpty: allowsEmpty, forgetsMissing: forgetsMissing) }

    private func requireWhole(
        _ visible: [Snapshot], _ removed: (snapshots: [RemovedSnapshot], damages: [RemovedDamage])
    ) throws(BackupError) -> [SnapshotID] {
        try pruneGuard.requireReadable(removed: removed.damages.filter { !grace.isOver(for: $0) })
        return try pruneGuard.check(visible: visible, removed: removed.snapshots)
    }

    private func plan(
        _ snapshots: [Snapshot], _ inventory: consuming PackInventory, _ doomed: PackDoom?
    ) throws(BackupError) -> PrunePlan {
        try PrunePlan(
            repository, snapshots, inventory, maxUnused: maxUnused, young: RecentPacks(repository.layout, youngPacks),
            doomed: doomed?.packs ?? [], forgetsMissing: forgetsMissing, progress: progress)
    }

    /// - Throws: `busy` while another process writes or checks; `repositoryDamaged` as `plan`; `noSpace`, …: what is done by then
    ///   stays done.
    public func run() throws(BackupError) -> PruneSummary {
        let lock = try RepositoryLock(repository.layout, .removingPacks, operation: "prune")
        defer { withExtendedLifetime(lock) {} }
        try repository.snapshotStore.sweep(requireHeld: lock.requireHeld)
        try repository.catalog.reconcile()
        // No pack appears or disappears while the lock is held.
        let inventory = try PackInventory(repository.catalog, progress: progress)
        try pruneGuard.requireReadable(inventory)
        try refuseOrForget()
        // Records are removed before the packs that only they need.
        try repository.snapshotStore.giveUpRemoved(grace, requireHeld: lock.requireHeld)
        try FaultInjection.reached("prune.removed-given-up")
        // Everything published before the lock was taken is seen; nothing is published while it is held. In this order, a
        // snapshot that another process is just removing is in at least one of the lists.
        try repository.snapshotStore.rescan()
        let visible = repository.snapshots()
        let removed = try repository.snapshotStore.readRemoved()
        try pruneGuard.requireReadable(removed: removed.damages)
        let doom = try PackDoom(repository.layout)
        let plan = try plan(visible + removed.snapshots.map(\.snapshot), inventory, doom)
        try makeDurable(plan)
        try FaultInjection.reached("prune.planned")
        var execution = Execution(repository: repository, lock: lock, plan: plan, doom: doom, progress: progress)
        noteWhatKeeps(removed.snapshots, &execution.summary)
        do throws(BackupError) {
            try execution.removeUnused()
            // Before anything is copied: a full storage must not keep every prune from freeing space.
            try execution.recordDoom()
            try execution.rewrite()
            try execution.recordDoom()
        } catch {
            execution.rewriter.discard()
            try? execution.recordDoom()
            try? execution.forgetRemoved()
            throw error
        }
        try execution.forgetRemoved()
        repository.snapshotStore.strikeOutRemoved()
        try BestEffort.run { () throws(BackupError) in
            try repository.layout.upstream?.storeIndexes(isCompacting: true, requireHeld: lock.requireHeld)
        }
        return execution.summary
    }

    private func refuseOrForget() throws(BackupError) {
        let store = repository.snapshotStore
        try store.rescan()
        let visible = repository.snapshots()
        let missing = try requireWhole(visible, store.readRemoved())
        if !missing.isEmpty { try store.forgetMissing(missing) }
    }

    /// The state that the plan relies on must survive a power cut once packs are gone: a killed process may have unlinked
    /// snapshots and renamed packs without fsyncing their folders.
    private func makeDurable(_ plan: PrunePlan) throws(BackupError) {
        try repository.snapshotStore.synchronizeRemoved()
        try repository.layout.synchronize(repository.layout.snapshots)
        try ReferencedPacks.makeDurable(Set(plan.inventory.packs.map(\.id)), layout: repository.layout)
    }

    private struct Execution {
        let repository: Repository
        let lock: RepositoryLock
        let plan: PrunePlan
        /// Of a repository in an object storage.
        var doom: PackDoom?
        let progress: ProgressHandler?
        let rewriter: PackRewriter
        let removal: PackRemoval
        var summary: PruneSummary
        private var removed: [PackID] = []
        private var removedByteCount: UInt64 = 0
        /// Packs whose needed chunks have all been copied, but not published yet.
        private var copied: [PackKind: [PackInventory.Pack]] = [:]

        init(
            repository: Repository, lock: RepositoryLock, plan: PrunePlan, doom: PackDoom?, progress: ProgressHandler?
        ) {
            self.repository = repository
            self.lock = lock
            self.plan = plan
            self.doom = doom
            self.progress = progress
            rewriter = PackRewriter(repository, lock)
            removal = PackRemoval(repository.layout)
            summary = plan.summary
            summary.removedPackCount = 0
            summary.rewrittenPackCount = 0
        }

        /// Runs first, since it frees space for the copies.
        mutating func removeUnused() throws(BackupError) {
            var waiting: [PackInventory.Pack] = []
            for number in plan.unused {
                let pack = plan.inventory.packs[number]
                do throws(BackupError) {
                    try removeUnused(pack)
                } catch {
                    // Removing other packs may free space for it.
                    guard error.code == .noSpace else { throw error }
                    waiting.append(pack)
                }
            }
            // None of them freed any, and a full disk must not prevent every prune from freeing space.
            if summary.removedPackCount == 0, !waiting.isEmpty { try removeUnused(waiting.removeFirst(), inPlace: true) }
            for pack in waiting { try removeUnused(pack) }
        }

        private mutating func removeUnused(_ pack: PackInventory.Pack, inPlace: Bool = false) throws(BackupError) {
            if doom?.mustWait(pack.id) == true {
                summary.waitingPackCount += 1
                summary.waitingByteCount += pack.byteCount
                return
            }
            try unlink(pack, inPlace: inPlace)
            summary.removedPackCount += 1
        }

        mutating func recordDoom() throws(BackupError) {
            let needed = Set(plan.inventory.packs.map(\.id)).subtracting(plan.unused.map { plan.inventory.packs[$0].id })
            guard var doom else { return }
            try doom.record(needed: needed, lock)
            self.doom = doom
        }

        mutating func rewrite() throws(BackupError) {
            let reader = PackDataReader(repository)
            let verifier = ChunkVerifier(repository)
            for (position, number) in plan.rewritten.enumerated() {
                let bytes = rewriter.publishedByteCount
                progress?(.step("Copying needed data...", position, of: plan.rewritten.count, bytes: bytes))
                try copy(plan.inventory.packs[number], reader, verifier)
            }
            try rewriter.finish()
            try unlinkCopied(.data)
            try unlinkCopied(.metadata)
        }

        private mutating func copy(
            _ pack: PackInventory.Pack, _ reader: PackDataReader, _ verifier: ChunkVerifier
        ) throws(BackupError) {
            let chunks = try repository.packIndex(of: pack.id).storedChunks(in: pack.id)
            let needed = chunks.indices.filter { plan.inventory.table.isNeeded(pack.firstRow + $0) }.map { chunks[$0] }
            var damage: BackupError?
            var wasPublished = false
            try reader.read(needed, of: pack.id) { (chunk, packed) throws(BackupError) in
                guard damage == nil else { return }
                switch packed {
                case .failure(let error): damage = error
                case .success(let bytes):
                    switch verifier.verify(chunk, bytes) {
                    case .damaged(let error), .withoutBase(let error): damage = error
                    case .sound: if try rewriter.append(chunk, bytes, kind: pack.kind) { wasPublished = true }
                    }
                }
            }
            // Chunks passed to the rewriter before this pack are now published; those of this pack perhaps only in part.
            if wasPublished { try unlinkCopied(pack.kind) }
            if let damage {
                // A repair may be able to rescue more of it than a copy would keep.
                summary.leftAlone.append(damage)
            } else {
                copied[pack.kind, default: []].append(pack)
            }
        }

        private mutating func unlinkCopied(_ kind: PackKind) throws(BackupError) {
            for pack in copied.removeValue(forKey: kind) ?? [] {
                try FaultInjection.reached("prune.pack-rewritten")
                // All of its chunks were needed after all, or a new pack has the same name.
                guard !rewriter.published.contains(pack.id) else { continue }
                if doom?.mustWait(pack.id) == true {
                    summary.waitingPackCount += 1
                    summary.waitingByteCount += pack.byteCount
                } else {
                    try unlink(pack)
                }
                summary.rewrittenPackCount += 1
            }
        }

        private mutating func unlink(_ pack: PackInventory.Pack, inPlace: Bool = false) throws(BackupError) {
            if let upstream = repository.layout.upstream {
                try lock.requireHeld()
                try upstream.removePack(pack.id)
            } else {
                try removal.remove(repository.layout.packPath(of: pack.id), inPlace: inPlace, requireHeld: lock.requireHeld)
            }
            removed.append(pack.id)
            removedByteCount += pack.byteCount
            repository.chunkReader.forget(pack.id)
            try FaultInjection.reached("prune.pack-unlinked")
        }

        /// The file first, then the catalog's row: see `Catalog.add`.
        mutating func forgetRemoved() throws(BackupError) {
            try repository.catalog.remove(removed)
            removed = []
            try FaultInjection.reached("prune.catalog-updated")
            summary.newPackCount = rewriter.published.count
            summary.freedByteCount =
                removedByteCount > rewriter.publishedByteCount ? removedByteCount - rewriter.publishedByteCount : 0
        }
    }
}
