import BackupCore
import Glibc
import SystemIO

/// Puts right what can be: damaged packs are replaced by packs of what is whole in them, the catalog is made anew, labels and records of which
/// one bit flipped are written again. What was damaged is set aside in `damaged/`, unless all of it was rescued.
///
/// What is lost stays lost: a check afterwards names the files. The next backup of the same data stores it again, and older snapshots that
/// need it are whole again.
public struct RepositoryRepair {
    private let repository: Repository
    private let report: (CheckEvent) -> Void
    private let progress: ProgressHandler?

    /// - Parameter report: told of what was found and done.
    public init(_ repository: Repository, progress: ProgressHandler? = nil, report: @escaping (CheckEvent) -> Void) {
        self.repository = repository
        self.progress = progress
        self.report = report
    }

    /// - Throws: `busy` while a backup is written; what keeps it from reading or writing; `locked` when another host has taken it for gone. It may be
    ///   interrupted at any point and run again.
    public func run() throws(BackupError) {
        let lock = try RepositoryLock(repository.layout, .removingPacks, operation: "check --repair")
        defer { withExtendedLifetime(lock) {} }
        try Execution(
            repository: repository, lock: lock, rewriter: PackRewriter(repository, lock), report: report, progress: progress
        ).run()
    }
}

/// A repair that holds its locks. Each file is moved and written only after the question whether they are still held.
private struct Execution {
    let repository: Repository
    let lock: RepositoryLock
    let rewriter: PackRewriter
    let report: (CheckEvent) -> Void
    let progress: ProgressHandler?

    func run() throws(BackupError) {
        defer { rewriter.discard() }
        try repository.snapshotStore.sweep(requireHeld: lock.requireHeld)
        try repairConfiguration()
        try repository.catalog.reconcile()
        try repairPacks()
        try repository.catalog.rebuild()
        report(.repaired("The catalog was made anew from the packs."))
        try repairRegister()
        try repairRecords()
        try repository.refresh()
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

    // MARK: Packs

    private func repairPacks() throws(BackupError) {
        let inventory = try PackInventory(repository, progress: progress)
        // Packs of a later version, or that only cannot be read now, are left as they are.
        for damage in inventory.unreadable where damage.error.code == .repositoryDamaged {
            let salvage = try PackSalvage(repository: repository).candidates(damage.pack)
            try replace(damage.pack, salvage.chunks, salvage.kind, damage.error)
        }
        let outcomes = findDamage(inventory)
        try Cancellation.check()
        for outcome in outcomes {
            let index = try repository.packIndex(of: outcome.pack)
            try replace(outcome.pack, index.storedChunks(in: outcome.pack), index.kind, outcome.damaged[0].error)
        }
    }

    private func findDamage(_ inventory: PackInventory) -> [PackDataCheck.Outcome] {
        let damaged = SharedList<PackDataCheck.Outcome>()
        PackDataCheck(repository: repository).run(inventory.packs.map(\.id), progress: progress) { outcome in
            if !outcome.damaged.isEmpty { damaged.append(outcome) }
        }
        return damaged.values.sorted { $0.pack < $1.pack }
    }

    /// Copies all of a pack that is whole to new packs and sets the pack aside.
    private func replace(
        _ pack: PackID, _ chunks: [StoredChunk], _ kind: PackKind, _ damage: BackupError
    ) throws(BackupError) {
        let reader = PackDataReader(repository)
        let verifier = ChunkVerifier(repository)
        var copied: Set<ChunkID> = []
        var corrected = 0
        var lost: Set<ChunkID> = []
        // A pack of which nothing can be read may be whole, on a disk or a share that is gone for the moment.
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
                    // In a sealed chunk the checksum is that of bytes which cannot be had any more.
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
        // If nothing was lost, the new pack is the old one as it was, and lies in its place.
        let isWhole = rewriter.published.contains(pack)
        if !isWhole {
            // The catalog is made anew at the end: removing a pack from it looks at every chunk.
            try setAside(repository.layout.packPath(of: pack))
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
        let told = Message.joined(counts)
        report(
            .repaired(
                isWhole
                    ? "Pack \(pack): \(told); it is as it was." : "Pack \(pack): \(told); the damaged pack lies in damaged/ now.")
        )
    }

    /// Moves a file of the repository to `damaged/`, durably.
    private func setAside(_ path: String) throws(BackupError) {
        let folder = repository.layout.damaged
        try OwnerOnly.makeFolder(folder)
        try lock.requireHeld()
        try FileSystem.rename(path, to: "\(folder)/\(FileSystem.lastComponent(path))")
        try FileSystem.synchronizeDirectory(folder)
        try FileSystem.synchronizeDirectory(FileSystem.parentPath(path))
    }

    // MARK: Records and labels

    private func repairRecords() throws(BackupError) {
        let layout = repository.layout
        for damage in repository.snapshotStore.list.damages where damage.code == .repositoryDamaged {
            guard let path = damage.path else { continue }
            let name = FileName(FileSystem.lastComponent(path))
            if let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension) {
                try repairRecord(SnapshotID(digest), damage)
            } else if let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.labelExtension) {
                try repairLabel(SnapshotID(digest), damage)
            } else if path.hasPrefix(layout.path) {
                report(.finding(CheckFinding(.record, damage)))
            }
        }
    }

    /// A label that is missing is reported once, and no longer expected. A record that is missing is expected until a prune is told to give the backup
    /// up: the check after this reports it.
    private func repairRegister() throws(BackupError) {
        let store = repository.snapshotStore
        do throws(BackupError) {
            let missing = SnapshotStore.MissingSnapshots(labels: try store.missingSnapshots().labels)
            for finding in MissingFinding.all(missing, repository.layout) {
                report(.finding(CheckFinding(finding.kind, finding.error)))
            }
            if !missing.isEmpty { try store.forgetMissing(missing) }
        } catch {
            if error.code == .unsupportedVersion { return }
            guard error.code == .repositoryDamaged else { throw error }
            try store.rebuildRegister()
            report(.finding(CheckFinding(.record, error, isRepaired: true)))
            report(.repaired("The register of snapshots was rebuilt from those that are there."))
        }
    }

    private func repairRecord(_ id: SnapshotID, _ damage: BackupError) throws(BackupError) {
        let path = repository.layout.snapshotPath(of: id)
        let bytes = try FileSystem.readFile(path, limitBytes: SnapshotRecord.byteCountLimit)
        if let right = SingleBitRepair.repaired(bytes, sha256: id.digest) {
            try setAsideCopy(bytes, FileSystem.lastComponent(path))
            try publish(right, to: path)
            report(.finding(CheckFinding(.record, damage, isRepaired: true)))
            report(.repaired("Snapshot record \(id): a flipped bit was turned back."))
            return
        }
        try setAside(path)
        try repository.snapshotStore.forgetMissing(SnapshotStore.MissingSnapshots(records: [id]))
        report(.finding(CheckFinding(.record, damage)))
        report(.repaired("Snapshot record \(id): lost; it lies in damaged/ now."))
    }

    private func repairLabel(_ id: SnapshotID, _ damage: BackupError) throws(BackupError) {
        let path = repository.layout.labelPath(of: id)
        let bytes = try FileSystem.readFile(path, limitBytes: SnapshotLabel.byteCountLimit)
        try setAsideCopy(bytes, FileSystem.lastComponent(path))
        let right = SingleBitRepair.repaired(bytes) {
            (try? SnapshotLabel(decoding: repository.protection.open($0, as: .snapshotLabel(id)), for: id)) != nil
        }
        if let right {
            try publish(right, to: path)
            report(.repaired("Label of snapshot \(id): a flipped bit was turned back."))
        } else {
            // Writes what is shown for it: its first name, and pinned, since it may have been.
            try repository.snapshotStore.changeLabel(id) { _ in }
            report(.repaired("Label of snapshot \(id): written anew; its name is its first one, and it is pinned."))
        }
        report(.finding(CheckFinding(.label, damage, isRepaired: true)))
    }

    private func setAsideCopy(_ bytes: [UInt8], _ name: String) throws(BackupError) {
        try OwnerOnly.makeFolder(repository.layout.damaged)
        try publish(bytes, to: "\(repository.layout.damaged)/\(name)")
    }

    private func publish(_ bytes: [UInt8], to path: String) throws(BackupError) {
        try OwnerOnly.publish(
            bytes, to: path, temporaryFolder: repository.layout.temporary, beforeRename: lock.requireHeld)
    }
}
