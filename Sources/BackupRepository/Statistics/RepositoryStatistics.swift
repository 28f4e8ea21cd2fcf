import BackupCore

/// The amount of data in snapshots, how much of it is unique, and how much space it takes.
public struct RepositoryStatistics: Sendable {
    /// An amount of distinct chunks.
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
    /// Counts the data of snapshots. Reads every directory object and content list at most twice, however many snapshots share it; file contents are not read.
    /// Takes 30 bytes of memory for each chunk of the repository.
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
