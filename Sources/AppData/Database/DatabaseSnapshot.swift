import BackupCore
import Glibc
import SQLite
import SystemIO

/// One consistent state of the app's data: the view of a single read transaction. Valid only inside `AppDatabase.readSnapshot`,
/// on that thread.
public final class DatabaseSnapshot: RecordSource {
    /// The app's definition, in the wire format of the data.
    public let definition: AppDefinition
    private let reader: DatabaseRecordReader
    /// In all its wire formats
    private let app: AppDefinition
    private let media: (any MediaCatalog)?

    init(
        connection: DatabaseConnection, definition: AppDefinition, media: (any MediaCatalog)?, avoidsIndexes: Bool
    ) throws(BackupError) {
        self.media = media
        app = definition
        self.definition = try definition.format(ofDatabase: connection)
        reader = DatabaseRecordReader(
            connection: connection, definition: self.definition, avoidsIndexes: avoidsIndexes)
    }

    /// Number of records of the collection with this index.
    public func count(of collection: Int) throws(BackupError) -> Int {
        guard definition.collections[collection].source != .table else { return try reader.count(of: collection) }
        var count = 0
        try forEachRecord(of: collection) { (_) throws(BackupError) in count += 1 }
        return count
    }

    /// All records of a collection in ascending key order; the buffer is valid only during the call.
    public func forEachRecord(
        of collection: Int, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let description = definition.collections[collection]
        guard description.source != .table else { return try reader.forEachRecord(of: collection, body) }
        // Without a media folder there are no such records.
        guard let media else { return }
        try MediaRecords(definition: definition, reader: reader, catalog: media).forEachRecord(of: description, body)
    }

    /// Where the rows are, for each collection whose records are written in the order of row numbers, each from its row alone; by
    /// the collection's index.
    public func rowTrees() throws(BackupError) -> [Int: RowTree] { try reader.rowTrees() }

    /// The records of a collection in `rowTrees` whose row numbers are in these ranges; the buffer is valid only during the
    /// call.
    /// - Parameter ranges: in ascending order, without overlaps.
    public func forEachRecord(
        of collection: Int, in ranges: [ClosedRange<Int64>], _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        try reader.forEachRecord(of: collection, in: ranges, body)
    }

    /// Records that name a file missing from the media folder.
    public func missingFiles() throws(BackupError) -> MissingFiles {
        guard let media, definition.describesMedia else { return MissingFiles() }
        return try MediaRecords(definition: definition, reader: reader, catalog: media).missingFiles()
    }

    /// Data that is in no export of this state, but that a restore would remove; `nil` when there is none.
    public func unexportedData() throws(BackupError) -> UnexportedData? {
        try DatabaseSchemaCheck(of: reader.connection, app).unexportedData()
    }

    /// Why triggers keep every restore from writing to this database; `nil` when they do not.
    public func triggerProblem() throws(BackupError) -> Message? {
        try DatabaseSchemaCheck(of: reader.connection, app).triggerEffects()?.problem
    }

    /// The metadata object's values, with defaults for values that are not stored; without the creation time.
    public func metadata() throws(BackupError) -> RecordBuffer {
        try reader.object(definition.metadata, creationTime: nil, schemaVersion: definition.schemaVersion)
    }

    /// The settings object's values, with defaults for values that are not stored; `nil` when the app has none.
    public func settings() throws(BackupError) -> RecordBuffer? {
        guard let settings = definition.settings else { return nil }
        return try reader.object(settings, creationTime: nil, schemaVersion: definition.schemaVersion)
    }

    /// Whether the app's own switch for automatic backups is off; false where there is none, or where it has never been used.
    public func isScheduleSwitchedOff() throws(BackupError) -> Bool {
        guard let name = definition.scheduleSwitch,
            let index = definition.settings?.fields.firstIndex(where: { $0.name == name }),
            let settings = try settings(), settings.kind(index) == .boolean
        else { return false }
        return !settings.boolean(index)
    }

    /// The app's own switch for the exchange with other devices, if it is not on; `nil` while it is, or where there is none.
    public func syncSwitchThatIsOff() throws(BackupError) -> String? {
        guard let name = definition.syncSwitch else { return nil }
        guard let index = definition.settings?.fields.firstIndex(where: { $0.name == name }),
            let settings = try settings(), settings.kind(index) == .boolean
        else { return name }
        return settings.boolean(index) ? nil : name
    }

    /// A metadata value as text (`appVersion`, `deviceName`), `nil` when the definition has no such field or it has no value.
    public func metadataText(_ name: String) throws(BackupError) -> String? {
        guard let index = definition.metadata.fields.firstIndex(where: { $0.name == name }) else { return nil }
        return try metadata().string(index)
    }

    public func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try reader.visitAll(with: visitor, creationTime: nil, schemaVersion: definition.schemaVersion)
    }

    /// The same in the form of an export, which has a creation time.
    /// - Parameter ranges: the rows that are visited, for collections of which only these are.
    func visit(with visitor: any RecordVisitor, createdAt: Timestamp, only ranges: RowRanges) throws(BackupError) {
        try reader.visitAll(with: visitor, creationTime: createdAt, schemaVersion: definition.schemaVersion, only: ranges)
    }

    /// Writes a copy of the whole database as this snapshot sees it, without the definition's secrets: a separate file with mode
    /// 0600, not in WAL mode, so that it opens read-only anywhere. An unchanged database always gives the same bytes. Not synced
    /// to disk.
    /// - Parameter destination: must not exist; does not exist after an error.
    public func copyDatabase(to destination: String) throws(BackupError) {
        try DatabaseCopy.copy(from: reader.connection, to: destination)
        do {
            try DatabaseSecrets.remove(definition.secrets, from: destination)
        } catch {
            _ = unlink(destination)
            throw error
        }
    }
}

/// Removes the values that must never leave the app's database from a copy of it.
enum DatabaseSecrets {
    /// Rewrites the copy: pages that SQLite has freed keep their content, and the app may have changed its secrets before.
    /// - Parameter path: a copy that no other connection has open, without a log.
    static func remove(_ rules: [SecretRule], from path: String) throws(BackupError) {
        guard !rules.isEmpty else { return }
        let clean = path + ".clean"
        // SQLite accepts an empty file, and would create one with the umask's mode.
        _ = try OwnedDescriptor.open(clean, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600)
        do {
            try rewrite(path, rules, to: clean)
            try FileSystem.rename(clean, to: path)
        } catch {
            _ = unlink(clean)
            throw error
        }
    }

    private static func rewrite(_ path: String, _ rules: [SecretRule], to clean: String) throws(BackupError) {
        let connection = try DatabaseConnection(path, .readWrite, .app)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        // They belong to the app, and must not run here.
        connection.disableTriggers()
        let schema = try DatabaseSchema.read(connection)
        for rule in rules where schema.contains(rule.table) {
            let table = quotedIdentifier(rule.table)
            if let key = rule.key {
                try connection.run("DELETE FROM \(table) WHERE \"key\" = ?1", key)
            } else {
                try connection.run("DELETE FROM \(table)")
            }
        }
        try connection.run("VACUUM INTO ?1", clean)
    }
}
