import BackupCore
import SystemIO

/// Which packs are removed, which are rewritten, and which chunks of those stay.
struct PrunePlan {
    private(set) var inventory: PackInventory
    /// Packs without any needed chunk, by their number in the inventory.
    private(set) var unused: [Int] = []
    /// Packs that are partly needed and have too much unused data.
    private(set) var rewritten: [Int] = []
    private(set) var summary = PruneSummary()

    private let repository: Repository
    /// Bytes of the chunks in each pack, and bytes of the needed ones.
    private var totalBytes: [UInt64] = []
    private var neededBytes: [UInt64] = []

    /// Marks everything that is reachable from a snapshot.
    /// - Parameters:
    ///   - snapshots: all existing ones, and those that can still be undeleted.
    ///   - young: packs that are left alone.
    ///   - doomed: packs of which no chunk is to be kept if it is elsewhere, too.
    ///   - forgetsMissing: whether chunks that are in no pack are given up.
    /// - Throws: `repositoryDamaged` when a folder or list cannot be read or a chunk is missing: what it needs is unknown.
    init(
        _ repository: Repository, _ snapshots: [Snapshot], _ inventory: consuming PackInventory, maxUnused: UnusedLimit,
        young: RecentPacks, doomed: Set<PackID> = [], forgetsMissing: Bool, progress: ProgressHandler?
    ) throws(BackupError) {
        self.repository = repository
        let setAside = QuarantinedPacks(repository)
        var bases = Self.bases(inUnreadable: inventory, repository)
        let walk = TreeWalk(repository, inventory) { (problem) throws(BackupError) in
            switch problem {
            case .structure(let error, _): throw Self.refusal(error)
            case .missing(let chunk, let path):
                // Its pack may come back, and then the chunk needs its base.
                if let known = setAside.bases(of: chunk) {
                    bases += known
                } else if !forgetsMissing {
                    throw Self.missingRefusal(chunk, path, repository.layout)
                }
            }
        }
        for (number, snapshot) in snapshots.enumerated() {
            progress?(.step("Finding needed data...", number, of: snapshots.count))
            _ = try walk.visit(snapshot)
        }
        self.inventory = walk.inventory
        for base in bases { self.inventory.table.need(CompactChunkIndex.Key(base)) }
        for damage in self.inventory.unreadable {
            summary.leftAlone.append(damage.error.at(repository.layout.packPath(of: damage.pack)))
        }
        count()
        keepOneOfEach(doomed)
        count()
        try choose(maxUnused, young)
    }

    static func refusal(_ reason: BackupError) -> BackupError {
        let isNewer = reason.code == .unsupportedVersion
        return reason.with(
            isNewer ? .unsupportedVersion : .repositoryDamaged,
            "nothing was pruned, since it is not known which data is needed: \(reason.message)",
            remedy: isNewer
                ? "Prune the repository with a newer version of backupfs."
                : "See what is damaged with: backupfs check. Then repair it with check --repair, or remove those backups.")
    }

    private static func missingRefusal(_ chunk: ChunkID, _ path: String, _ layout: RepositoryLayout) -> BackupError {
        BackupError(
            .repositoryDamaged,
            "nothing was pruned, since a pack is missing and it is not known which data it needs: chunk \(chunk) of \(path) is in no pack",
            path: layout.packs,
            remedy:
                "Copy the missing pack back from another copy of the repository. If there is none: backupfs prune --forget-missing"
        )
    }

    /// The bases of chunks in unreadable packs, as far as the catalog knows them.
    private static func bases(inUnreadable inventory: borrowing PackInventory, _ repository: Repository) -> [ChunkID] {
        inventory.unreadable.flatMap { damage in
            ((try? repository.catalog.chunks(of: damage.pack))?.chunks ?? []).compactMap(\.base)
        }
    }

    private func byteCount(ofRow row: Int) -> UInt64 {
        let overhead = RepositoryProtection.overheadByteCount(isSealed: repository.protection.isSealing)
        return UInt64(inventory.table.rows[row].storedLength) + UInt64(overhead)
    }

    private mutating func count() {
        totalBytes = [UInt64](repeating: 0, count: inventory.packs.count)
        neededBytes = totalBytes
        for (number, pack) in inventory.packs.enumerated() {
            for row in pack.firstRow..<pack.firstRow + pack.chunkCount {
                totalBytes[number] += byteCount(ofRow: row)
                if inventory.table.isNeeded(row) { neededBytes[number] += byteCount(ofRow: row) }
            }
        }
    }

    /// Keeps one copy of each chunk that is in several packs, after verifying it: preferably one that is stored whole, in a pack
    /// of which most is needed.
    private mutating func keepOneOfEach(_ doomed: Set<PackID>) {
        func share(_ row: Int) -> Double {
            let pack = inventory.packNumber(ofRow: row)
            if doomed.contains(inventory.packs[pack].id) { return -1 }
            return Double(neededBytes[pack]) / Double(max(1, totalBytes[pack]))
        }
        func isBetter(_ left: Int, _ right: Int) -> Bool {
            let isWhole = (inventory.table.base(ofRow: left) == nil, inventory.table.base(ofRow: right) == nil)
            if isWhole.0 != isWhole.1 { return isWhole.0 }
            let (leftShare, rightShare) = (share(left), share(right))
            return leftShare != rightShare ? leftShare > rightShare : left < right
        }
        func rows(like row: Int) -> [Int] { inventory.table.allRows(of: inventory.table.rows[row].key) }
        let verifier = ChunkVerifier(repository)
        var index: (pack: PackID, chunks: [StoredChunk])?
        // The best copies in storage order, so that each pack's index is read once, and not once for each of its chunks.
        let needed = inventory.table.duplicated.filter { inventory.table.isNeeded($0) }
        let best = needed.compactMap { rows(like: $0).min(by: isBetter) }.sorted()
        for row in best {
            let rows = rows(like: row)
            let ordered = [row] + rows.filter { $0 != row }.sorted(by: isBetter)
            let kept = ordered.first { row in
                let pack = inventory.pack(ofRow: row)
                if index?.pack != pack.id {
                    index = (try? repository.packIndex(of: pack.id)).map { (pack.id, $0.storedChunks(in: pack.id)) }
                }
                guard let index, index.pack == pack.id else { return false }
                return (try? verifier.requireSound(index.chunks[row - pack.firstRow])) != nil
            }
            guard let kept else { continue }
            // Only a chunk that is stored whole can be the base of others. While none of those can be read, a repair may still
            // fix one.
            let isKeptWhole = inventory.table.base(ofRow: kept) == nil
            for row in rows where row != kept && (isKeptWhole || inventory.table.base(ofRow: row) != nil) {
                inventory.table.setNeeded(row, false)
            }
        }
    }

    private mutating func choose(_ maxUnused: UnusedLimit, _ young: RecentPacks) throws(BackupError) {
        var partly: [Int] = []
        var youngBytes: UInt64 = 0
        for (number, pack) in inventory.packs.enumerated() {
            summary.packCount += 1
            summary.byteCount += pack.byteCount
            summary.neededByteCount += neededBytes[number]
            summary.unusedByteCount += totalBytes[number] - neededBytes[number]
            guard neededBytes[number] < totalBytes[number] || totalBytes[number] == 0 else { continue }
            if try young.contains(pack.id) {
                summary.youngPackCount += 1
                youngBytes += unusedBytes(in: number)
            } else if neededBytes[number] == 0 {
                unused.append(number)
            } else {
                partly.append(number)
            }
        }
        let neededCount = inventory.table.rows.indices.count { inventory.table.isNeeded($0) }
        summary.neededChunkCount = neededCount
        summary.unusedChunkCount = inventory.chunkCount - neededCount
        var remaining = partly.reduce(UInt64(0)) { $0 + unusedBytes(in: $1) }
        let limit = maxUnused.byteCount(used: summary.neededByteCount)
        // Packs with the most unused data first: they free the most for each copied byte.
        for number in partly.sorted(by: { emptiness($0) > emptiness($1) }) {
            guard remaining > limit else { break }
            remaining -= unusedBytes(in: number)
            rewritten.append(number)
        }
        summary.removedPackCount = unused.count
        summary.rewrittenPackCount = rewritten.count
        summary.remainingUnusedByteCount = remaining + youngBytes
        // Does not count the indexes of the packs that will be written.
        summary.freedByteCount =
            unused.reduce(0) { $0 + inventory.packs[$1].byteCount } + rewritten.reduce(0) { $0 + unusedBytes(in: $1) }
    }

    private func unusedBytes(in number: Int) -> UInt64 { totalBytes[number] - neededBytes[number] }

    private func emptiness(_ number: Int) -> Double { Double(unusedBytes(in: number)) / Double(totalBytes[number]) }
}

/// Packs that a prune leaves alone because they were written recently, on storage that several hosts share.
///
/// Where the kernel's locks reach every process, no process writes while a prune runs, and no pack counts as young. But sshfs and
/// rclone show another host's files only seconds or minutes later, including its notes and its newest record. A pack that no
/// visible record needs may be one that this record needs.
struct RecentPacks {
    /// Longer than any file system caches a listing. restic and borg use similar limits.
    static let ageLimitSeconds: Int64 = 3_600

    /// Which packs a prune spares.
    enum Rule: Sendable {
        /// Packs on storage that other hosts may write to.
        case onSharedStorage
        case always
        case never
    }

    private let layout: RepositoryLayout
    /// By the storage's own clock; `nil` when no pack counts as young.
    private let now: Timestamp?

    init(_ layout: RepositoryLayout, _ rule: Rule) throws(BackupError) {
        self.layout = layout
        let applies =
            switch rule {
            case .onSharedStorage: try FileSystem.isShared(layout.packs)
            case .always: true
            case .never: false
            }
        now = applies ? try Self.clock(layout) : nil
    }

    /// Where nothing can be written, nothing is removed either: this is a dry run.
    private static func clock(_ layout: RepositoryLayout) throws(BackupError) -> Timestamp {
        do {
            return try layout.lockNotes.now()
        } catch let error where [.readOnly, .accessDenied, .notPermitted].contains(error.code) {
            return SystemClock.systemTime()
        }
    }

    /// Whether the pack is left alone. That includes a pack dated in the future: one of the clocks is wrong, and its age is
    /// unknown.
    func contains(_ pack: PackID) throws(BackupError) -> Bool {
        guard let now, let status = try FileSystem.look(layout.packPath(of: pack)) else { return false }
        return now.secondsSince(status.modificationTime) < Self.ageLimitSeconds
    }
}

/// The chunks of packs that a repair set aside in `damaged/`. Those that could not be rescued are missing, and may come back with
/// an intact copy of the pack. For one thread at a time; the folder is read once, at the first query.
final class QuarantinedPacks {
    private let repository: Repository
    private lazy var chunks = read()

    init(_ repository: Repository) { self.repository = repository }

    /// The bases of a chunk in these packs; `nil` when none of them has the chunk.
    func bases(of chunk: ChunkID) -> [ChunkID]? { chunks[chunk] }

    /// An unreadable index is skipped: its chunks are unknown.
    private func read() -> [ChunkID: [ChunkID]] {
        var chunks: [ChunkID: [ChunkID]] = [:]
        let salvage = PackSalvage(repository: repository)
        let folder = repository.layout.damaged
        for name in (try? DirectoryHandle(path: folder).names()) ?? [] {
            guard
                let pack = RepositoryLayout.digest(in: name, extension: RepositoryLayout.packExtension).map(PackID.init),
                let index = try? salvage.provenIndex(of: pack, in: "\(folder)/\(name)")
            else { continue }
            for chunk in index.entries { chunks[chunk.id, default: []] += chunk.base.map { [$0] } ?? [] }
        }
        return chunks
    }
}
