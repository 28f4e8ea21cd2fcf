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
            chunkCount += 1
            uniqueBytes += UInt64(plain)
            storedBytes += UInt64(stored)
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

    /// The bytes that they take in the repository.
    public var storedBytes: UInt64 { total.storedBytes + structures.storedBytes }

    /// The sizes of all their files in bytes.
    public var logicalBytes: UInt64 { snapshots.reduce(0) { $0.addingSaturating($1.logicalBytes) } }
}

extension Repository {
    /// Counts the data of snapshots. Reads every directory object and content list at most twice, however many snapshots share
    /// it; file contents are not read. Takes 30 bytes of memory for each chunk of the repository.
    /// - Parameter chosen: snapshots of this repository, oldest first.
    /// - Throws: `repositoryDamaged` when a folder or list of any snapshot cannot be read.
    public func statistics(of chosen: [Snapshot]) throws(BackupError) -> RepositoryStatistics {
        let ids = Set(chosen.map(\.id))
        var walk = StatisticsWalk(
            repository: self, table: try ChunkTable(catalog), chosen: chosen,
            others: snapshots().filter { !ids.contains($0.id) })
        return try walk.run()
    }
}

/// Finds for every chunk the first snapshot that needs it, and whether it is the only one.
///
/// The first pass visits the snapshots in turn and stops at every folder and content list that it has visited before. What is
/// below those is shared, and a second pass marks all of it as shared.
struct StatisticsWalk {
    /// The owner of a chunk or folder: the number of its only snapshot plus 1, or one of these.
    private enum Owner {
        static let none: UInt32 = 0
        static let several = UInt32.max
    }

    private struct Folder {
        var owner: UInt32
        var isPropagated = false
    }

    /// Half of a SHA-256 is enough to distinguish folders.
    private struct FolderKey: Hashable {
        let high: UInt64
        let low: UInt64
    }

    private let repository: Repository
    private let resolver: ContentResolver
    private let table: ChunkTable
    private let snapshots: [Snapshot]
    private var statistics: RepositoryStatistics
    private var owners: [UInt32]
    private var folders: [FolderKey: Folder] = [:]
    private var walkedLists: BitSet
    /// In the second pass: the visited lists of a single snapshot, and those of several.
    private var passedLists: BitSet
    private var propagatedLists: BitSet

    init(repository: Repository, table: ChunkTable, chosen: [Snapshot], others: [Snapshot]) {
        self.repository = repository
        resolver = repository.resolver
        self.table = table
        snapshots = chosen + others
        statistics = RepositoryStatistics(snapshots: chosen.map { RepositoryStatistics.OfSnapshot(snapshot: $0) })
        owners = [UInt32](repeating: Owner.none, count: table.count)
        walkedLists = BitSet(limit: table.count)
        passedLists = BitSet(limit: table.count)
        propagatedLists = BitSet(limit: table.count)
    }

    mutating func run() throws(BackupError) -> RepositoryStatistics {
        for (index, snapshot) in snapshots.enumerated() {
            do throws(BackupError) {
                try claim(snapshot.record.root, for: UInt32(index + 1))
            } catch {
                throw error.at(snapshot.name.description)
            }
        }
        for snapshot in snapshots { try propagate(snapshot.record.root, isShared: false) }
        for (number, owner) in owners.enumerated() where owner != Owner.none && owner <= statistics.snapshots.count {
            statistics.snapshots[Int(owner) - 1].exclusive.add(
                plain: table.plainLengths[number], stored: table.storedLengths[number])
        }
        for snapshot in statistics.snapshots {
            statistics.total.add(snapshot.added)
            statistics.structures.add(snapshot.addedStructures)
        }
        return statistics
    }

    private static func key(of stored: StoredDirectory) -> FolderKey {
        var writer = ByteWriter()
        stored.content.encode(into: &writer)
        return SHA256Hasher.hash(writer.bytes).withUnsafeBytes { bytes in
            FolderKey(high: bytes.loadUnaligned(as: UInt64.self), low: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    private func number(of id: ChunkID) throws(BackupError) -> Int {
        if let number = table.number(of: id) { return number }
        throw BackupError(
            .repositoryDamaged, "chunk \(id) is in no pack of the repository", remedy: "See: backupfs check")
    }
}

// MARK: - First pass

extension StatisticsWalk {
    private mutating func claim(_ stored: StoredDirectory, for owner: UInt32) throws(BackupError) {
        try claim(stored.content, for: owner, isStructure: true)
        let key = Self.key(of: stored)
        if let known = folders[key] {
            if known.owner != owner { folders[key]?.owner = Owner.several }
            return
        }
        folders[key] = Folder(owner: owner)
        for entry in try repository.directory(stored).entries {
            if let inner = entry.storedDirectory {
                try claim(inner, for: owner)
            } else {
                try claim(entry.content, for: owner, isStructure: false)
            }
        }
    }

    /// - Parameter isStructure: whether the chunks are those of a folder; lists always count as structures.
    private mutating func claim(_ content: FileContent, for owner: UInt32, isStructure: Bool) throws(BackupError) {
        for element in content.elements {
            switch element {
            case .literal: continue
            case .chunk(let id, _): claim(try number(of: id), for: owner, isStructure: isStructure)
            case .list(let id, _):
                let number = try number(of: id)
                claim(number, for: owner, isStructure: true)
                if walkedLists.insert(number) { try claim(resolver.open(element), for: owner, isStructure: isStructure) }
            }
        }
    }

    private mutating func claim(_ number: Int, for owner: UInt32, isStructure: Bool) {
        if let base = table.base(of: number) { claimOne(base, for: owner, isStructure: isStructure) }
        claimOne(number, for: owner, isStructure: isStructure)
    }

    private mutating func claimOne(_ number: Int, for owner: UInt32, isStructure: Bool) {
        guard owners[number] == Owner.none else {
            if owners[number] != owner { owners[number] = Owner.several }
            return
        }
        owners[number] = owner
        guard owner <= statistics.snapshots.count else { return }
        let index = Int(owner) - 1
        let (plain, stored) = (table.plainLengths[number], table.storedLengths[number])
        if isStructure {
            statistics.snapshots[index].addedStructures.add(plain: plain, stored: stored)
        } else {
            statistics.snapshots[index].added.add(plain: plain, stored: stored)
        }
        if let codec = ChunkCodec(rawValue: table.codecs[number]) {
            statistics.byCodec[codec, default: RepositoryStatistics.Amount()].add(plain: plain, stored: stored)
        }
    }
}

// MARK: - Second pass

extension StatisticsWalk {
    /// - Parameter isShared: whether something above belongs to several snapshots; then everything below does.
    private mutating func propagate(_ stored: StoredDirectory, isShared: Bool) throws(BackupError) {
        let key = Self.key(of: stored)
        guard let folder = folders[key] else { return }
        let isShared = isShared || folder.owner == Owner.several
        if folder.isPropagated, !isShared || folder.owner == Owner.several { return }
        folders[key]?.isPropagated = true
        if isShared { folders[key]?.owner = Owner.several }
        try propagate(stored.content, isShared: isShared)
        for entry in try repository.directory(stored).entries {
            if let inner = entry.storedDirectory {
                try propagate(inner, isShared: isShared)
            } else {
                try propagate(entry.content, isShared: isShared)
            }
        }
    }

    private mutating func propagate(_ content: FileContent, isShared: Bool) throws(BackupError) {
        for element in content.elements {
            switch element {
            case .literal: continue
            case .chunk(let id, _): if isShared { share(try number(of: id)) }
            case .list(let id, _):
                let number = try number(of: id)
                if isShared { share(number) }
                let isShared = owners[number] == Owner.several
                // A list of one snapshot may contain one that other snapshots share.
                if isShared ? propagatedLists.insert(number) : passedLists.insert(number) {
                    try propagate(resolver.open(element), isShared: isShared)
                }
            }
        }
    }

    private mutating func share(_ number: Int) {
        if let base = table.base(of: number) { owners[base] = Owner.several }
        owners[number] = Owner.several
    }
}
