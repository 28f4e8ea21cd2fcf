import BackupCore
import BackupRepository

/// The stored records of one backup.
struct StoredRecords {
    /// One collection: its file in the folder `data`, and a source for its bytes while the backup runs.
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
    /// The state of the database in this backup; `nil` where it cannot be distinguished from the next one.
    let databaseState: String?
    /// Values that the export cannot represent exactly.
    var inexact: InexactValues?
    /// Values that some restores would refuse.
    var refused: RefusedValues?
    /// The damage that SQLite found in the database.
    var damage: String?
}
