import BackupCore
import BackupRepository

/// The states that the app's records had in the backups: what `history/` shows.
public protocol RecordHistoryView: AnyObject, Sendable {
    /// The collections that any of the backups has.
    /// - Parameter snapshots: of this store, in the order in which they were made.
    func collections(_ snapshots: [Snapshot]) throws(BackupError) -> [FileName]
    /// - Returns: `nil` if no backup has the collection.
    func records(of collection: FileName, _ snapshots: [Snapshot]) throws(BackupError) -> RecordNames?
    /// - Returns: `nil` if no backup has the record.
    /// - Throws: `repositoryDamaged` if it is in none of the backups that can be read.
    func history(of record: FileName, in collection: FileName, _ snapshots: [Snapshot]) throws(BackupError) -> RecordHistory?
}

/// The folders of a collection in `history/`.
public struct RecordNames: Sendable {
    /// Sorted by name, with the time of the backup that has the last change of the record.
    public let names: [(name: FileName, changedAt: Timestamp)]
    /// Whether there are more records, which are not listed.
    public let areMore: Bool
    /// The backups that cannot be read.
    public let failures: [(backup: FileName, error: BackupError)]

    public init(
        names: [(name: FileName, changedAt: Timestamp)], areMore: Bool, failures: [(backup: FileName, error: BackupError)]
    ) {
        self.names = names
        self.areMore = areMore
        self.failures = failures
    }
}

/// The folder of one record in `history/`.
public struct RecordHistory: Sendable {
    /// One state of the record.
    public struct State: Sendable {
        /// The oldest backup that has it.
        public let snapshot: Snapshot
        /// The file with the record.
        public let file: ExtentTable

        public init(snapshot: Snapshot, file: ExtentTable) {
            self.snapshot = snapshot
            self.file = file
        }
    }

    /// Oldest first.
    public let states: [State]
    /// `changes.txt`.
    public let changes: [UInt8]
    /// When the record last changed.
    public let modificationTime: Timestamp
    /// The backups whose state is not known, since they cannot be read.
    public let failures: [(backup: FileName, error: BackupError)]

    public init(
        states: [State], changes: [UInt8], modificationTime: Timestamp, failures: [(backup: FileName, error: BackupError)]
    ) {
        self.states = states
        self.changes = changes
        self.modificationTime = modificationTime
        self.failures = failures
    }
}
