import BackupCore
import GRDBSQLite
import Glibc

/// One consistent state of the app's data: what a single read transaction sees. Valid inside
/// `AppDatabase.readSnapshot` only, on that thread.
public final class DatabaseSnapshot: RecordSource {
    /// The app's, in the wire format that the data came in.
    public let definition: AppDefinition
    private let reader: DatabaseRecordReader
    /// In all its wire formats.
    private let app: AppDefinition
    private let media: (any MediaCatalog)?

    init(
        connection: OpaquePointer?, definition: AppDefinition, path: String, media: (any MediaCatalog)?, avoidsIndexes: Bool
    ) throws(BackupError) {
        self.media = media
        app = definition
        self.definition = try definition.format(ofDatabase: connection, path: path)
        reader = DatabaseRecordReader(
            connection: connection, definition: self.definition, path: path, avoidsIndexes: avoidsIndexes)
    }

    /// Number of records of the collection with this index.
    public func count(of collection: Int) throws(BackupError) -> Int {
        guard definition.collections[collection].source != .table else { return try reader.count(of: collection) }
        var count = 0
        try forEachRecord(of: collection) { (_) throws(BackupError) in count += 1 }
        return count
    }

    /// All records of a collection in ascending order of their key; the buffer is valid during the call only.
    public func forEachRecord(
        of collection: Int, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let description = definition.collections[collection]
        guard description.source != .table else { return try reader.forEachRecord(of: collection, body) }
        // Without a media folder there is nothing to tell of it.
        guard let media else { return }
        try MediaRecords(definition: definition, reader: reader, catalog: media).forEachRecord(of: description, body)
    }

    /// Records that name a file which is not in the media folder.
    public func missingFiles() throws(BackupError) -> MissingFiles {
        guard let media, definition.tellsOfMedia else { return MissingFiles() }
        return try MediaRecords(definition: definition, reader: reader, catalog: media).missingFiles()
    }

    /// What is in no export of this state; `nil` when everything is that a restore would remove.
    public func unexportedData() throws(BackupError) -> UnexportedData? {
        try DatabaseSchemaCheck(connection: reader.connection, definition: app, path: reader.path).unexportedData()
    }

    /// Why no restore could write to this database, for its triggers; `nil` when one could.
    public func triggerProblem() throws(BackupError) -> Message? {
        try DatabaseSchemaCheck(connection: reader.connection, definition: app, path: reader.path).triggerEffects()?.problem
    }

    /// The metadata object's values, with defaults for what is not stored; the creation time is missing.
    public func metadata() throws(BackupError) -> RecordBuffer {
        try reader.object(definition.metadata, creationTime: nil, schemaVersion: definition.schemaVersion)
    }

    /// The settings object's values, with defaults for what is not stored; `nil` when the app has none.
    public func settings() throws(BackupError) -> RecordBuffer? {
        guard let settings = definition.settings else { return nil }
        return try reader.object(settings, creationTime: nil, schemaVersion: definition.schemaVersion)
    }

    /// Whether the app's own switch for automatic backups is off; not where it has none, nor where nobody has ever used it.
    public func isScheduleSwitchedOff() throws(BackupError) -> Bool {
        guard let name = definition.scheduleSwitch,
            let index = definition.settings?.fields.firstIndex(where: { $0.name == name }),
            let settings = try settings(), settings.kind(index) == .boolean
        else { return false }
        return !settings.boolean(index)
    }

    /// A metadata value as text (`appVersion`, `deviceName`), `nil` when the definition has no such field or it has no value.
    public func metadataText(_ name: String) throws(BackupError) -> String? {
        guard let index = definition.metadata.fields.firstIndex(where: { $0.name == name }) else { return nil }
        return try metadata().string(index)
    }

    public func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try reader.visitAll(with: visitor, creationTime: nil, schemaVersion: definition.schemaVersion)
    }

    /// The same as an export tells it, which has a creation time.
    func visit(with visitor: any RecordVisitor, createdAt: Timestamp) throws(BackupError) {
        try reader.visitAll(with: visitor, creationTime: createdAt, schemaVersion: definition.schemaVersion)
    }

    /// Writes a copy of the whole database as this snapshot sees it, but for the definition's secrets: a file of its own, mode 0600, not in WAL mode, so that it
    /// opens read-only wherever it lies. An unchanged database gives the same bytes every time. Not synced to disk.
    /// - Parameter destination: must not exist; after an error it does not.
    public func copyDatabase(to destination: String) throws(BackupError) {
        try DatabaseCopy.copy(from: reader.connection, path: reader.path, to: destination)
        do {
            try DatabaseSecrets.remove(definition.secrets, from: destination)
        } catch {
            _ = unlink(destination)
            throw error
        }
    }
}
