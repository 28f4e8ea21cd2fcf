import BackupCore
import Synchronization
import SystemIO

/// Looks for damage in snapshot records and labels, packs, the catalog, and everything that the snapshots reach. Changes nothing.
///
/// A backup may be made meanwhile: what it adds is not checked.
public struct RepositoryCheck {
    private let repository: Repository
    private let readData: DataSubset?
    private let report: (CheckEvent) -> Void
    private let progress: ProgressHandler?
    private var summary = CheckSummary()
    /// Why the storage of a repository that lies elsewhere could not be read: that proves no damage.
    private var unreachable: BackupError?

    /// - Parameters:
    ///   - readData: the packs to read completely; `nil` for none.
    ///   - report: called for every finding.
    public init(
        _ repository: Repository, readData: DataSubset?, progress: ProgressHandler? = nil,
        report: @escaping (CheckEvent) -> Void
    ) {
        self.repository = repository
        self.readData = readData
        self.progress = progress
        self.report = report
    }

    /// - Throws: errors that prevent the check; damage is reported instead. For a repository that lies elsewhere, also those of
    ///   its storage.
    public mutating func run() throws(BackupError) -> CheckSummary {
        summary = CheckSummary()
        unreachable = nil
        // A backup may run meanwhile; a prune would remove packs during the check.
        let lock = try Self.lock(repository)
        defer { withExtendedLifetime(lock) {} }
        try repository.layout.packSource?.prepareCheck()
        try repository.refresh()
        // In this order: all packs of the listed snapshots were published before them.
        let snapshots = repository.snapshots()
        checkRecords()
        var inventory = try PackInventory(repository.catalog, progress: progress)
        for damage in inventory.unreadable {
            find(.pack, damage.error.at(repository.layout.shownPackPath(of: damage.pack)), pack: damage.pack)
        }
        checkCatalog(inventory)
        if let readData { readPacks(readData.select(inventory.packs), &inventory) }
        // Chunks that were not read because of a cancellation are not damaged.
        try Cancellation.check()
        try requireReached()
        let baseless = withoutBase(inventory)
        summary.packCount = inventory.packs.count + inventory.unreadable.count
        summary.chunkCount = inventory.chunkCount
        // Consumed, since marking needed chunks would copy the whole table otherwise.
        try checkTrees(snapshots, consume inventory, baseless)
        return summary
    }

    /// - Returns: `nil` where nothing can be locked because nothing can be written; then packs cannot be removed either.
    private static func lock(_ repository: Repository) throws(BackupError) -> RepositoryLock? {
        do {
            return try RepositoryLock(repository.layout, .keepingPacks, operation: "check")
        } catch let error where [.readOnly, .accessDenied, .notPermitted].contains(error.code) {
            return nil
        }
    }

    private mutating func find(_ kind: CheckFinding.Kind, _ error: BackupError, pack: PackID? = nil, chunk: ChunkID? = nil) {
        if repository.isRemote, [.offline, .accessDenied, .inputOutput].contains(error.code) {
            unreachable = unreachable ?? error
            return
        }
        if error.code == .unsupportedVersion { summary.newerCount += 1 } else { summary.findingCount += 1 }
        report(.finding(CheckFinding(kind, error, pack: pack, chunk: chunk)))
    }

    private func requireReached() throws(BackupError) { if let unreachable { throw unreachable } }

    private mutating func checkRecords() {
        do throws(BackupError) {
            let reading = try ConfigurationFiles(layout: repository.layout).read(repository.protection.keys)
            if let damage = reading.damage { find(.config, damage) }
        } catch {
            find(.config, error)
        }
        if repository.isEncrypted, let damage = repository.keyStore.damage() { find(.config, damage) }
        for damage in repository.snapshotStore.list.damages {
            let isLabel = damage.path?.hasSuffix(RepositoryLayout.labelExtension) == true
            find(isLabel ? .label : .record, damage)
        }
        checkReadRecords()
        checkRemoved()
        checkRegister()
        for damage in repository.sourceProblems() { find(.source, damage) }
    }

    /// Records that were read before the check, from copies of what the storage has.
    private mutating func checkReadRecords() {
        guard let source = repository.layout.packSource else { return }
        for snapshot in repository.snapshots() {
            do throws(BackupError) {
                if try repository.layout.recordBytes(of: snapshot.id) != nil { continue }
                find(
                    .record,
                    BackupError(
                        .repositoryDamaged, "the snapshot record does not fit its name",
                        path: RepositoryLayout(path: source.location).snapshotPath(of: snapshot.id)))
            } catch {
                find(.record, error)
            }
        }
    }

    /// Unreadable records of removed snapshots: these snapshots cannot be undeleted.
    private mutating func checkRemoved() {
        do throws(BackupError) {
            for damage in try repository.snapshotStore.readRemoved().damages { find(.record, damage.error) }
        } catch {
            find(.record, error)
        }
    }

    /// Only the register shows that another program has deleted a file.
    private mutating func checkRegister() {
        let missing: SnapshotStore.MissingSnapshots
        do throws(BackupError) {
            if try repository.snapshotStore.isRegisterMissing() ? true : isWithoutRecords() {
                find(.record, SnapshotRegister.missing(repository.layout))
            }
            missing = try repository.snapshotStore.missingSnapshots()
        } catch {
            // This version cannot read a later version's register.
            if error.code != .unsupportedVersion { find(.record, error) }
            return
        }
        for finding in CheckFinding.missing(missing, repository.layout) { find(finding.kind, finding.error) }
    }

    /// Whether there is data, but neither a register nor a record: an incomplete copy.
    private func isWithoutRecords() throws(BackupError) -> Bool {
        guard repository.snapshotStore.list.recorded.isEmpty, try repository.snapshotStore.readRegister() == nil else {
            return false
        }
        return try !repository.packs().isEmpty
    }

    /// Compares the catalog with the packs' own indexes.
    private mutating func checkCatalog(_ inventory: PackInventory) {
        let path = repository.catalog.path
        let remedy: Message = "No data is affected: backupfs check --repair rebuilds it from the packs."
        if let damage = repository.catalog.damage {
            find(
                .catalog,
                BackupError(
                    .repositoryDamaged, "\(damage.message); it has been rebuilt from the packs", path: path,
                    remedy: "No data was affected."))
        }
        var differing: [PackInventory.Pack] = []
        do {
            differing = try repository.catalog.differing(from: inventory)
        } catch {
            find(.catalog, error.with(path: path, remedy: remedy))
        }
        for pack in differing {
            find(.catalog, Catalog.difference(from: pack.id, path: path, remedy: remedy), pack: pack.id)
        }
    }

    private mutating func readPacks(_ packs: [PackInventory.Pack], _ inventory: inout PackInventory) {
        let outcomes = LockedArray<PackDataCheck.Outcome>()
        let byteCount = Mutex<UInt64>(0)
        PackDataCheck(repository: repository).run(packs.map(\.id), progress: progress) { outcome in
            byteCount.withLock { $0 += outcome.byteCount }
            guard !outcome.damaged.isEmpty || outcome.failure != nil || !outcome.withoutBase.isEmpty else { return }
            outcomes.append(outcome)
        }
        summary.readPackCount = packs.count
        summary.readByteCount = byteCount.withLock { $0 }
        let firstRows = Dictionary(uniqueKeysWithValues: packs.map { ($0.id, $0.firstRow) })
        for outcome in outcomes.values.sorted(by: { $0.pack < $1.pack }) {
            guard let firstRow = firstRows[outcome.pack] else { continue }
            // A failed backup may have removed its pack meanwhile, which is not damage. If a snapshot needs the pack, that is
            // found below. From a copy that lies elsewhere, no backup removes anything.
            if let failure = outcome.failure, failure.code != .notFound || repository.isRemote, failure.code != .interrupted {
                find(.pack, failure.at(repository.layout.shownPackPath(of: outcome.pack)), pack: outcome.pack)
            }
            for damage in outcome.damaged {
                inventory.table.setDamaged(firstRow + damage.number)
                find(.chunk, damage.error, pack: outcome.pack, chunk: damage.chunk)
            }
            for damage in outcome.withoutBase where inventory.table.isUsable(firstRow + damage.number) {
                // By its index the base looked whole: its damage was found while reading it.
                inventory.table.setDamaged(firstRow + damage.number)
                find(.chunk, damage.error, pack: outcome.pack, chunk: damage.chunk)
            }
        }
    }

    /// Checks that every chunk stored against a base has that base, stored whole.
    /// - Returns: the chunks without a usable base.
    private func withoutBase(_ inventory: PackInventory) -> [(row: Int, chunk: PackEntry, pack: PackID)] {
        var found: [(row: Int, chunk: PackEntry, pack: PackID)] = []
        var lastRead: (pack: PackID, entries: [PackEntry])?
        for row in inventory.table.rows.indices {
            guard inventory.table.base(ofRow: row) != nil, !inventory.table.isDamaged(row), !inventory.table.isUsable(row) else {
                continue
            }
            // The chunk has been stored again since; this copy is not needed any more, and the next prune removes it.
            if inventory.table.allRows(of: inventory.table.rows[row].key).contains(where: inventory.table.isUsable) { continue }
            let pack = inventory.pack(ofRow: row)
            // The table has only parts of the names; the index has them whole.
            if lastRead?.pack != pack.id { lastRead = (try? repository.packIndex(of: pack.id).entries).map { (pack.id, $0) } }
            guard let entry = lastRead?.entries[row - pack.firstRow] else { continue }
            found.append((row, entry, pack.id))
        }
        return found
    }

    private mutating func reportMissingBase(_ chunk: PackEntry, of pack: PackID) {
        find(
            .chunk,
            repository.chunkReader.damage(
                chunk.stored(in: pack, at: 0),
                "its base \(chunk.base?.hexadecimal ?? "") is in no intact pack, or is itself stored against a base"),
            pack: pack, chunk: chunk.id)
    }

    private mutating func checkTrees(
        _ snapshots: [Snapshot], _ inventory: consuming PackInventory, _ baseless: [(row: Int, chunk: PackEntry, pack: PackID)]
    ) throws(BackupError) {
        var problems: [TreeWalk.Problem] = []
        let walk = TreeWalk(repository, inventory) { problems.append($0) }
        // Their contents are unknown: chunks that are in no other pack may be there.
        let hasNewerPacks = walk.inventory.unreadable.contains { $0.error.code == .unsupportedVersion }
        var damagedSnapshots: [Snapshot] = []
        for (number, snapshot) in snapshots.enumerated() {
            progress?(.step("Checking the backups...", number, of: snapshots.count))
            if try walk.visit(snapshot) { damagedSnapshots.append(snapshot) }
        }
        summary.snapshotCount = snapshots.count
        // A prune leaves some unused chunks in place, and may remove bases that only such chunks have. That is not damage.
        for (row, chunk, pack) in baseless where walk.inventory.table.isNeeded(row) { reportMissingBase(chunk, of: pack) }
        for problem in problems {
            switch problem {
            case .missing(let id, _) where hasNewerPacks:
                find(
                    .missing,
                    StructureHeader.unknown("chunk \(id) is in no pack that this program can read").at(repository.layout.packs),
                    chunk: id)
            case .missing(let id, _):
                find(
                    .missing,
                    BackupError(
                        .repositoryDamaged, "chunk \(id) is in no intact pack", path: repository.layout.packs,
                        remedy: "Copy the missing pack back from another copy of the repository, if there is one."), chunk: id)
            case .structure(let error, let isReported): if !isReported { find(.structure, error) }
            }
        }
        if readData == .all { try checkFileChecksums(snapshots) }
        try requireReached()
        // If nothing is damaged, a later version wrote what cannot be read.
        let isDamaged = summary.findingCount > 0
        if isDamaged { summary.damagedSnapshotCount = damagedSnapshots.count }
        for snapshot in damagedSnapshots {
            var count = 0
            try walk.damagedFiles(of: snapshot) { file in
                count += 1
                report(isDamaged ? .damaged(file) : .unreadable(file))
            }
            if isDamaged { summary.damagedFileCount += count }
        }
    }

    private mutating func checkFileChecksums(_ snapshots: [Snapshot]) throws(BackupError) {
        var problems: [BackupError] = []
        var check = FileChecksumCheck(repository) { problems.append($0) }
        for snapshot in snapshots { try check.check(snapshot) }
        for problem in problems { find(.structure, problem) }
    }
}
