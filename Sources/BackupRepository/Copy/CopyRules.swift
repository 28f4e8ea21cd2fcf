import BackupCore

/// What the program above the repository knows of snapshots, for copying them.
public struct CopyRules: Sendable {
    /// How a backup cuts the file at a path of a snapshot, with these first bytes: at least 100, if the file has them.
    let policy: @Sendable (_ path: [UInt8], _ start: [UInt8]) -> ChunkingPolicy
    /// The exact size of archive.zip in bytes, of the folder that a snapshot has in the target, and the attributes that go with
    /// it.
    let archive: @Sendable (_ original: Snapshot, Directory, Repository) throws(BackupError) -> Archive

    /// The size of a snapshot's archive, which depends on how chunks are stored.
    public struct Archive: Sendable {
        let sizeBytes: UInt64
        let attributes: [String: String]

        public init(sizeBytes: UInt64, attributes: [String: String]) {
            self.sizeBytes = sizeBytes
            self.attributes = attributes
        }

        /// Whether a record says the same.
        func fits(_ record: SnapshotRecord) -> Bool {
            sizeBytes == record.archiveSizeBytes && attributes.allSatisfy { record.attributes[$0.key] == $0.value }
        }
    }

    public init(
        policy: @escaping @Sendable (_ path: [UInt8], _ start: [UInt8]) -> ChunkingPolicy,
        archive: @escaping @Sendable (_ original: Snapshot, Directory, Repository) throws(BackupError) -> Archive
    ) {
        self.policy = policy
        self.archive = archive
    }
}
