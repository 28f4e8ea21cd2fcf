import BackupCore
import BackupRepository

/// The records of one backup, stored.
struct StoredRecords {
    /// One collection: its file in the folder `data`, and where its bytes can be read while the backup is being made.
    struct Collection {
        /// The name on the wire.
        let collection: String
        let entry: TreeEntry
        let source: any ByteSource
    }

    let facts: RecordFacts
    /// In the definition's order.
    let collections: [Collection]
    /// The folder `data`, `database.sqlite` and `export.json`.
    let entries: [TreeEntry]
    /// The state of the database that this is; `nil` where it cannot be told from the next one.
    let databaseState: String?
    /// What the export cannot hold.
    var inexact: InexactValues?
    /// What some restores would refuse.
    var refused: RefusedValues?
    /// What SQLite finds wrong with the database.
    var damage: String?
}
