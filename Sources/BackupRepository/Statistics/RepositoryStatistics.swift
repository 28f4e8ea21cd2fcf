import BackupCore
import SystemIO

/// The amount of data in snapshots, how much of it is unique, and how much space it takes.
public struct RepositoryStatistics: Sendable {
    /// An amount of distinct chunks.
    public struct Amount: Sendable, Equatable {
        /// Number of different chunks.
        public var chunkCount: UInt64 = 0
        /// Their length before compression, in bytes.
        public var uniqueBytes: UInt64 = 0
        /// Their length in the packs, in bytes.
        public var storedBytes: UInt64 = 0

        mutating func add(plain: UInt32, stored: UInt32) {
            add(Amount(chunkCount: 1, uniqueBytes: UInt64(plain), storedBytes: UInt64(stored)))
        }

        mutating func add(_ other: Amount) {
            chunkCount += other.chunkCount
            uniqueBytes += other.uniqueBytes
            storedBytes += other.storedBytes
        }
    }

    /// What one snapshot adds.
    public struct OfSnapshot: Sendable {
        public let snapshot: Snapshot
        /// Of files: what it needs and no snapshot listed before it needs.
        public internal(set) var added = Amount()
        /// The same for folders and for the lists that name files' chunks.
        public internal(set) var addedStructures = Amount()
        /// What no other snapshot of the repository needs: the space that its removal frees.
        public internal(set) var exclusive = Amount()

        /// The bytes that it added to the repository.
        public var addedStoredBytes: UInt64 { added.storedBytes + addedStructures.storedBytes }

        /// The files' sizes in bytes.
        public var logicalBytes: UInt64 { snapshot.record.root.totals.byteCount }
    }

    /// The requested snapshots, oldest first.
    public internal(set) var snapshots: [OfSnapshot]
    /// The data of their files, each chunk counted once.
    public internal(set) var total = Amount()
    /// The data of their folders and lists.
    public internal(set) var structures = Amount()
    /// Both, by codec.
    public internal(set) var byCodec: [ChunkCodec: Amount] = [:]

    /// Both, of the chunks that are stored against a base, whatever the codec.
    public var deltas: Amount {
        var sum = Amount()
        for (codec, amount) in byCodec where codec.needsBase { sum.add(amount) }
        return sum
    }

    /// The bytes that they take in the repository.
    public var storedBytes: UInt64 { total.storedBytes + structures.storedBytes }

    /// The sizes of all their files in bytes.
    public var logicalBytes: UInt64 { snapshots.reduce(0) { $0.addingSaturating($1.logicalBytes) } }
}

extension Repository {
    /// Counts the data of snapshots. Reads every directory object and content list at most twice, however many snapshots share
    /// it; file contents are not read. Takes 33 bytes of memory for each chunk of the repository, and 24 more for a delta.
    /// - Parameter chosen: snapshots of this repository, oldest first.
    /// - Throws: `repositoryDamaged` when a folder or list of any snapshot cannot be read.
    public func statistics(of chosen: [Snapshot]) throws(BackupError) -> RepositoryStatistics {
        let ids = Set(chosen.map(\.id))
        var walk = StatisticsWalk(self, try catalog.chunkIndex(), chosen)
        return try walk.run(others: snapshots().filter { !ids.contains($0.id) })
    }
}

/// Finds for every chunk the first snapshot that needs it, and whether it is the only one.
///
/// It visits the snapshots in turn. It enters a folder or content list for the first snapshot that has it, and once more for the
/// second one, to mark everything in it as shared.
private struct StatisticsWalk {
    /// The owner of a chunk, folder or list: the number of its only snapshot plus 1, or one of these.
    private enum Owner {
        static let none: UInt32 = 0
        static let several = UInt32.max
    }

    private let repository: Repository
    private let index: CompactChunkIndex
    /// What sealing adds to the stored length of a chunk.
    private let overhead: UInt32
    private var statistics: RepositoryStatistics
    private var owners: [UInt32]
    /// By a part of the digest of their content, which is enough to distinguish them.
    private var folders: [CompactChunkIndex.Key: UInt32] = [:]
    /// By the row of their chunk. Another list that is stored against that chunk does not need what is in this list.
    private var lists: [Int: UInt32] = [:]

    init(_ repository: Repository, _ index: CompactChunkIndex, _ chosen: [Snapshot]) {
        self.repository = repository
        self.index = index
        overhead = UInt32(RepositoryProtection.overheadByteCount(isSealed: repository.protection.isSealing))
        statistics = RepositoryStatistics(snapshots: chosen.map { RepositoryStatistics.OfSnapshot(snapshot: $0) })
        owners = [UInt32](repeating: Owner.none, count: index.rows.count)
    }

    mutating func run(others: [Snapshot]) throws(BackupError) -> RepositoryStatistics {
        for (number, snapshot) in (statistics.snapshots.map(\.snapshot) + others).enumerated() {
            do throws(BackupError) {
                try claim(snapshot, for: UInt32(number + 1))
            } catch {
                throw error.at(snapshot.name.description)
            }
        }
        for (row, owner) in owners.enumerated() where owner != Owner.none && owner <= statistics.snapshots.count {
            statistics.snapshots[Int(owner) - 1].exclusive.add(amount(row))
        }
        for snapshot in statistics.snapshots {
            statistics.total.add(snapshot.added)
            statistics.structures.add(snapshot.addedStructures)
        }
        return statistics
    }

    private mutating func claim(_ snapshot: Snapshot, for owner: UInt32) throws(BackupError) {
        var cursor = TreeCursor(snapshot, in: repository)
        while let entry = try cursor.nextEntry() {
            let isFolder = entry.kind == .directory
            try claim(entry.content, for: owner, isStructure: isFolder)
            guard isFolder else { continue }
            let key = CompactChunkIndex.Key(entry.content.fingerprint)
            if !Self.take(&folders[key, default: Owner.none], for: owner) { cursor.skipFolder() }
        }
    }

    /// - Returns: whether the owner changed: to this first one, or to several.
    private static func take(_ owned: inout UInt32, for owner: UInt32) -> Bool {
        guard owned != owner, owned != Owner.several else { return false }
        owned = owned == Owner.none ? owner : Owner.several
        return true
    }

    /// - Parameter isStructure: whether the chunks are those of a folder; lists always count as structures.
    private mutating func claim(_ content: FileContent, for owner: UInt32, isStructure: Bool) throws(BackupError) {
        for element in content.elements {
            switch element {
            case .literal: continue
            case .chunk(let id, _): try claim(row(of: id), for: owner, isStructure: isStructure)
            case .list(let id, _):
                let row = try row(of: id)
                claim(row, for: owner, isStructure: true)
                guard Self.take(&lists[row, default: Owner.none], for: owner) else { continue }
                try claim(repository.resolver.open(element), for: owner, isStructure: isStructure)
            }
        }
    }

    private func row(of id: ChunkID) throws(BackupError) -> Int {
        if let row = index.firstRow(of: CompactChunkIndex.Key(id)) { return row }
        throw BackupError(
            .repositoryDamaged, "chunk \(id) is in no pack of the repository", remedy: "See: backupfs check")
    }

    /// Claims a chunk, and the one that it is stored against.
    private mutating func claim(_ row: Int, for owner: UInt32, isStructure: Bool) {
        if let base = index.base(ofRow: row).flatMap({ index.firstRow(of: $0) }) {
            claimOne(base, for: owner, isStructure: isStructure)
        }
        claimOne(row, for: owner, isStructure: isStructure)
    }

    private mutating func claimOne(_ row: Int, for owner: UInt32, isStructure: Bool) {
        let isNew = owners[row] == Owner.none
        guard Self.take(&owners[row], for: owner), isNew, owner <= statistics.snapshots.count else { return }
        let (number, amount) = (Int(owner) - 1, amount(row))
        if isStructure {
            statistics.snapshots[number].addedStructures.add(amount)
        } else {
            statistics.snapshots[number].added.add(amount)
        }
        if let codec = index.rows[row].codec { statistics.byCodec[codec, default: .init()].add(amount) }
    }

    private func amount(_ row: Int) -> RepositoryStatistics.Amount {
        var amount = RepositoryStatistics.Amount()
        amount.add(plain: index.rows[row].plainLength, stored: index.rows[row].storedLength + overhead)
        return amount
    }
}
