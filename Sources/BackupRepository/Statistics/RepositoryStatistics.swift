import BackupCore

/// How much snapshots hold, how much of that is different, and how much room it takes.
public struct RepositoryStatistics: Sendable {
    /// Different chunks.
    public struct Amount: Sendable, Equatable {
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

    public struct OfSnapshot: Sendable {
        public let snapshot: Snapshot
        /// Of files: what it needs and none of those told before it.
        public internal(set) var added = Amount()
        /// The same of folders and of the lists that name files' chunks.
        public internal(set) var addedStructures = Amount()
        /// What no other snapshot of the repository needs: so much room its removal gives back.
        public internal(set) var exclusive = Amount()

        /// What it added to the repository, in bytes.
        public var addedStoredBytes: UInt64 { added.storedBytes + addedStructures.storedBytes }

        /// The files' sizes in bytes.
        public var logicalBytes: UInt64 { snapshot.record.root.totals.byteCount }
    }

    /// Those that were asked for, oldest first.
    public internal(set) var snapshots: [OfSnapshot]
    /// What their files need together, each chunk once.
    public internal(set) var total = Amount()
    /// What their folders and lists need.
    public internal(set) var structures = Amount()
    /// Both by the way they are stored.
    public internal(set) var byCodec: [ChunkCodec: Amount] = [:]

    /// What they take in the repository, in bytes.
    public var storedBytes: UInt64 { total.storedBytes + structures.storedBytes }

    /// The sizes of all their files in bytes.
    public var logicalBytes: UInt64 { snapshots.reduce(0) { $0 + $1.logicalBytes } }
}

extension Repository {
    /// Counts what snapshots need. Reads every directory object and content list twice at most, however many snapshots share it; no file's
    /// bytes are read. Takes 30 bytes of memory for each chunk of the repository.
    /// - Parameter chosen: of this repository, oldest first.
    /// - Throws: `repositoryDamaged` when a folder or list of any snapshot cannot be read.
    public func statistics(of chosen: [Snapshot]) throws(BackupError) -> RepositoryStatistics {
        let ids = Set(chosen.map(\.id))
        var walk = StatisticsWalk(
            repository: self, table: try ChunkTable(catalog), chosen: chosen,
            others: snapshots().filter { !ids.contains($0.id) })
        return try walk.run()
    }
}
