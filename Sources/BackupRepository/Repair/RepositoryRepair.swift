import BackupCore
import Glibc
import SystemIO

/// Repairs what can be repaired: damaged packs are replaced by packs with their intact chunks, the catalog is rebuilt, and labels
/// and records with one flipped bit are rewritten. Damaged files are set aside in `damaged/`, unless all of their data was
/// rescued.
///
/// Lost data stays lost: a later check names the files. The next backup of the same data stores it again, which makes older
/// snapshots with it whole again.
public struct RepositoryRepair {
    private let repository: Repository
    private let report: (CheckEvent) -> Void
    private let progress: ProgressHandler?

    /// - Parameter report: called for each finding and each repair.
    public init(_ repository: Repository, progress: ProgressHandler? = nil, report: @escaping (CheckEvent) -> Void) {
        self.repository = repository
        self.progress = progress
        self.report = report
    }

    /// - Throws: `busy` while a backup is written; errors of reading or writing; `locked` when another host has considered this
    ///   one gone. It may be interrupted at any point and run again.
    /// - Returns: the number of lost labels. A check afterwards finds all other losses.
    @discardableResult
    public func run() throws(BackupError) -> Int {
        let lock = try RepositoryLock(repository.layout, .removingPacks, operation: "check --repair")
        defer { withExtendedLifetime(lock) {} }
        return try Execution(
            repository: repository, lock: lock, rewriter: PackRewriter(repository, lock), report: report, progress: progress
        ).run()
    }
}

/// A repair that holds its locks. Before each move or write of a file it verifies that they are still held.
private struct Execution {
    let repository: Repository
    let lock: RepositoryLock
    let rewriter: PackRewriter
    let report: (CheckEvent) -> Void
    let progress: ProgressHandler?

    private var damaged: DamagedFolder { DamagedFolder(layout: repository.layout, requireHeld: lock.requireHeld) }

    func run() throws(BackupError) -> Int {
        defer { rewriter.discard() }
        try repository.snapshotStore.sweep(requireHeld: lock.requireHeld)
        try repairConfiguration()
        try repairKey()
        try repository.catalog.reconcile()
        try repairPacks()
        try repository.catalog.rebuild()
        report(.repaired("The catalog was rebuilt from the packs."))
        var records = RecordRepair(repository, damaged, report: report)
        try records.run()
        try repository.refresh()
        return records.lostLabelCount
    }

    private func repairConfiguration() throws(BackupError) {
        let files = ConfigurationFiles(layout: repository.layout)
        let keys = repository.protection.keys
        let reading = try files.read(keys)
        guard let damage = reading.damage else { return files.addCopy(reading, keys) }
        try files.repair(reading, keys)
        report(.finding(CheckFinding(.config, damage, isRepaired: true)))
        report(.repaired("The repository's config and its copy were made equal again."))
    }

    private func repairKey() throws(BackupError) {
        guard repository.isEncrypted, let damage = repository.keyStore.damage() else { return }
        guard try repository.keyStore.repair() else { return }
        report(.finding(CheckFinding(.config, damage, isRepaired: true)))
        report(.repaired("The key file and its copy were made equal again."))
    }

    // MARK: Packs

    private func repairPacks() throws(BackupError) {
        let inventory = try PackInventory(repository.catalog, progress: progress)
        // Packs of a later version, or that are only temporarily unreadable, are left alone.
        let damaged = inventory.unreadable.filter { $0.error.code == .repositoryDamaged }
        for damage in damaged {
            let salvage = try PackSalvage(repository: repository).candidates(damage.pack)
            // The new pack must not replace a damaged one that holds something else and has not been processed yet.
            if let other = salvage.otherPack, damaged.contains(where: { $0.pack == other }) { try appendFiller(salvage.kind) }
            try replace(damage.pack, salvage.chunks, salvage.kind, damage.error)
        }
        let outcomes = findDamage(inventory)
        try Cancellation.check()
        for outcome in outcomes {
            let index = try repository.packIndex(of: outcome.pack)
            guard let damage = outcome.damaged.first?.error ?? outcome.failure else { continue }
            try replace(outcome.pack, index.storedChunks(in: outcome.pack), index.kind, damage)
        }
    }

    /// Gives the next pack a unique name by adding an unreferenced chunk: the name is derived from the chunks. A prune removes
    /// that chunk.
    private func appendFiller(_ kind: PackKind) throws(BackupError) {
        // The names of sealed packs are random anyway.
        guard !repository.protection.isSealing else { return }
        let (entry, bytes) = PackEntry.filler()
        try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in
            _ = try rewriter.append(entry.stored(in: PackID(entry.id.digest), at: 0), buffer, kind: kind)
        }
    }

    private func findDamage(_ inventory: PackInventory) -> [PackDataCheck.Outcome] {
        let damaged = LockedArray<PackDataCheck.Outcome>()
        PackDataCheck(repository: repository).run(inventory.packs.map(\.id), progress: progress) { outcome in
            // The end of a pack may be damaged whose index is known from a copy.
            if !outcome.damaged.isEmpty || outcome.failure?.code == .repositoryDamaged { damaged.append(outcome) }
        }
        return damaged.values.sorted { $0.pack < $1.pack }
    }

    /// Copies all intact chunks of a pack to new packs and sets the pack aside.
    private func replace(
        _ pack: PackID, _ chunks: [StoredChunk], _ kind: PackKind, _ damage: BackupError
    ) throws(BackupError) {
        let reader = PackDataReader(repository)
        let verifier = ChunkVerifier(repository)
        var copied: Set<ChunkID> = []
        var corrected = 0
        var lost: Set<ChunkID> = []
        // A completely unreadable pack may be intact, on a disk or share that is temporarily unavailable.
        var isAnyRead = false
        var unreadable: BackupError?
        try reader.read(chunks, of: pack) { (chunk, packed) throws(BackupError) in
            guard !copied.contains(chunk.id) else { return }
            var bytes: [UInt8] = []
            var isSound = false
            if case .failure(let error) = packed, error.code != .repositoryDamaged { unreadable = error }
            if case .success(let found) = packed {
                isAnyRead = true
                bytes = Array(found)
                switch verifier.verify(chunk, found) {
                case .sound, .withoutBase: isSound = true
                case .damaged:
                    // For a sealed chunk, the checksum is that of bytes that are not available any more.
                    if !repository.protection.isSealing, let place = SingleBitRepair.position(in: found, crc32: chunk.storedCRC32)
                    {
                        bytes[place.offset] ^= 1 << place.bit
                        if case .sound = bytes.withUnsafeBytes({ verifier.verify(chunk, $0) }) {
                            isSound = true
                            corrected += 1
                        }
                    }
                }
            }
            guard isSound else {
                lost.insert(chunk.id)
                return
            }
            try bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in
                _ = try rewriter.append(chunk, buffer, kind: kind)
            }
            copied.insert(chunk.id)
        }
        if let unreadable, !isAnyRead { throw unreadable.at(repository.layout.packPath(of: pack)) }
        lost.subtract(copied)
        let lostCount = lost.count
        try rewriter.finish()
        try FaultInjection.reached("repair.pack-rewritten")
        // If nothing was lost, the new pack is identical to the old one before the damage, and has replaced it.
        let isWhole = rewriter.published.contains(pack)
        if !isWhole {
            // The catalog is rebuilt at the end: removing a single pack from it scans every chunk.
            try damaged.setAside(pack)
        }
        repository.chunkReader.forget(pack)
        for chunk in chunks where lost.remove(chunk.id) != nil {
            let error = repository.chunkReader.damage(chunk, "it could not be rescued")
            report(.finding(CheckFinding(.chunk, error, pack: pack, chunk: chunk.id)))
        }
        report(
            .finding(CheckFinding(.pack, damage.at(repository.layout.packPath(of: pack)), pack: pack, isRepaired: lostCount == 0))
        )
        var counts: [Message] = ["\(copied.count) chunks rescued"]
        if corrected > 0 { counts.append("\(corrected) of them by turning back a flipped bit") }
        if lostCount > 0 { counts.append("\(lostCount) lost") }
        let outcome = Message.joined(counts)
        report(
            .repaired(
                isWhole
                    ? "Pack \(pack): \(outcome); it is as it was."
                    : "Pack \(pack): \(outcome); the damaged pack is in damaged/ now.")
        )
    }
}
