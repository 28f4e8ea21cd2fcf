import BackupCore
import Glibc
import SQLite
import SystemIO

/// An import's index of one collection's records, in tables of the scratch database: those of the file, by key, with their keys
/// in the database; and those that existed in the database before.
///
/// Columns have no type, so that values are not converted, and compare by bytes.
///
/// | table | column | |
/// | --- | --- | --- |
/// | `file_N` | `key` | as in the file |
/// | | `wanted` | the same; if the key refers to another record, that one's key in the database |
/// | | `identity`, `r0`… | from `IdentityEncoder`, and the references that belong to it |
/// | | `target`, `isFound` | the key in the database, and whether the record already exists |
/// | `existing_N` | `key`, `identity`, `r0`… | the same for an existing record |
/// | | `isClaimed` | whether a record of the file matches it |
final class MergeIndex {
    let collection: CollectionDefinition
    let number: Int
    let encoder: IdentityEncoder
    /// The target of the key if it is a reference.
    let keyReference: Int?
    let scratch: ScratchDatabase
    private var insertion: DatabaseStatement?
    private var lookUp: DatabaseStatement?
    private var taken: DatabaseStatement?
    /// Whether any record has a different key in the database than in the file.
    private(set) var hasNewKeys = false

    init(_ collection: CollectionDefinition, number: Int, scratch: ScratchDatabase) throws(BackupError) {
        self.collection = collection
        self.number = number
        self.scratch = scratch
        encoder = IdentityEncoder(collection)
        keyReference = collection.keyField.reference?.collection
        let references = encoder.references.indices.map { ", r\($0)" }.joined()
        try scratch.execute(
            """
            CREATE TABLE \(file) (key PRIMARY KEY, wanted, identity\(references), target, isFound DEFAULT 0) WITHOUT ROWID;
            CREATE TABLE \(existing) (key PRIMARY KEY, identity\(references), isClaimed DEFAULT 0) WITHOUT ROWID
            """)
        let marks = encoder.references.indices.map { ", ?\($0 + 3)" }.joined()
        insertion = try scratch.statement(
            "INSERT INTO \(file) (key, wanted, identity\(references)) VALUES (?1, ?1, ?2\(marks))")
    }

    var file: String { "file_\(number)" }
    var existing: String { "existing_\(number)" }

    // MARK: Filling

    /// Adds a record of the file. Its values must have their fields' kinds.
    func add(_ record: RecordBuffer) throws(BackupError) {
        guard let insertion else { return }
        try bind(record, to: insertion)
        try insertion.run()
    }

    /// Adds the records of the app's database.
    /// - Throws: `notSupported` when two records have the same key.
    func addExisting(_ connection: DatabaseConnection) throws(BackupError) {
        let indices = [collection.keyIndex] + encoder.fieldIndices
        let fields = indices.map { collection.fields[$0] }
        let columns = fields.map { DatabaseRecordReader.expression($0, on: connection) }.joined(separator: ", ")
        let key = DatabaseRecordReader.expression(collection.keyField, on: connection)
        let rows = try connection.statement(
            "SELECT \(columns) FROM \(quotedIdentifier(collection.table)) WHERE \(key) IS NOT NULL ORDER BY \(key)")
        let references = encoder.references.indices
        let statement = try scratch.statement(
            "INSERT OR IGNORE INTO \(existing) (key, identity\(references.map { ", r\($0)" }.joined())) "
                + "VALUES (?1, ?2\(references.map { ", ?\($0 + 3)" }.joined()))")
        let record = RecordBuffer(fieldCount: collection.fields.count)
        while try rows.step() {
            record.clear()
            for (position, index) in indices.enumerated() {
                DatabaseRecordReader.read(rows, Int32(position), fields[position].type, into: record, index)
            }
            try bind(record, to: statement)
            try statement.run()
            guard scratch.changedRowCount == 1 else {
                throw BackupError(
                    .notSupported,
                    """
                    Import failed: two \(collection.plural) in the database have the \(collection.keyField.name) \
                    \(record.value(collection.keyIndex).messageText)
                    """,
                    path: connection.path, remedy: "Records are identified by a unique key. Correct the data first.")
            }
        }
    }

    private func bind(_ record: RecordBuffer, to statement: DatabaseStatement) throws(BackupError) {
        try RecordInserter.bind(record, collection.keyIndex, to: 1, of: statement)
        if encoder.isMoreThanKey {
            let identity = RecordBuffer(fieldCount: 1)
            encoder.encode(record).withUnsafeBytes { identity.set(0, .blob, bytes: $0) }
            try statement.bind(2, copying: identity.bytes(0))
        } else {
            statement.bindNull(2)
        }
        for (position, reference) in encoder.references.enumerated() {
            try RecordInserter.bind(record, reference.index, to: Int32(position + 3), of: statement)
        }
    }

    // MARK: Finding

    /// Matches each record of the file with the same one in the database, one to one: with the same key if there is one,
    /// otherwise the first that no other record of the file has claimed. A record without a match is new.
    /// - Parameters:
    ///   - others: of all collections; the targets of this one's identity or key have already been matched.
    ///   - takesKey: whether a record with the same key matches if none has the same identity.
    func match(_ others: [MergeIndex], takesKey: Bool) throws(BackupError) {
        try translateReferences(others)
        let references = encoder.references.indices
        let same = (["e.identity IS f.identity"] + references.map { "e.r\($0) IS f.r\($0)" }).joined(separator: " AND ")
        try claim("SELECT 1 FROM \(existing) AS e WHERE e.key = f.wanted AND \(same)")
        if encoder.isMoreThanKey { try matchByIdentity() }
        if takesKey { try claim("SELECT 1 FROM \(existing) AS e WHERE e.key = f.wanted AND NOT e.isClaimed") }
    }

    private func claim(_ condition: String) throws(BackupError) {
        try scratch.execute(
            """
            UPDATE \(file) AS f SET target = wanted, isFound = 1 WHERE NOT isFound AND EXISTS (\(condition));
            UPDATE \(existing) SET isClaimed = 1 WHERE NOT isClaimed AND key IN (SELECT target FROM \(file) WHERE isFound)
            """)
    }

    /// Replaces references with their keys in the database.
    private func translateReferences(_ others: [MergeIndex]) throws(BackupError) {
        insertion = nil
        for (position, reference) in encoder.references.enumerated() where others[reference.collection].hasNewKeys {
            let target = others[reference.collection].file
            try scratch.execute(
                "UPDATE \(file) SET r\(position) = (SELECT t.target FROM \(target) AS t WHERE t.key = \(file).r\(position))")
        }
        guard let keyReference, others[keyReference].hasNewKeys else { return }
        let target = others[keyReference].file
        try scratch.execute("UPDATE \(file) SET wanted = (SELECT t.target FROM \(target) AS t WHERE t.key = \(file).wanted)")
    }

    private func matchByIdentity() throws(BackupError) {
        guard try scratch.number("SELECT EXISTS (SELECT 1 FROM \(existing) WHERE NOT isClaimed)") == 1,
            try scratch.number("SELECT EXISTS (SELECT 1 FROM \(file) WHERE NOT isFound)") == 1
        else { return }
        let references = encoder.references.indices
        let names = references.map { ", r\($0)" }.joined()
        try scratch.execute("CREATE INDEX unclaimed_\(number) ON \(existing) (identity\(names), key) WHERE NOT isClaimed")
        let conditions = references.map { " AND r\($0) IS ?\($0 + 2)" }.joined()
        let search = try scratch.statement(
            "SELECT key FROM \(existing) WHERE NOT isClaimed AND identity IS ?1\(conditions) ORDER BY key LIMIT 1")
        let claim = try scratch.statement("UPDATE \(existing) SET isClaimed = 1 WHERE key = ?1")
        let finding = try scratch.statement("UPDATE \(file) SET target = ?2, isFound = 1 WHERE key = ?1")
        try forEachNew("identity\(names)", while: "NOT isFound") { (row) throws(BackupError) in
            for index in 0...references.count { try RecordInserter.bind(row, index + 1, to: Int32(index + 1), of: search) }
            defer { search.reset() }
            guard try search.step() else { return }
            let found = RecordBuffer(fieldCount: 1)
            DatabaseRecordReader.read(search, 0, .any, into: found, 0)
            search.reset()
            try RecordInserter.bind(found, 0, to: 1, of: claim)
            try claim.run()
            try RecordInserter.bind(row, 0, to: 1, of: finding)
            try RecordInserter.bind(found, 0, to: 2, of: finding)
            try finding.run()
            withExtendedLifetime(found) {}
        }
    }

    // MARK: Finding its key in the database

    /// To be called after all records have their keys.
    func finish() throws(BackupError) {
        hasNewKeys = try scratch.number("SELECT EXISTS (SELECT 1 FROM \(file) WHERE target IS NOT key)") == 1
        lookUp = try scratch.statement("SELECT target, isFound FROM \(file) WHERE key = ?1")
    }

    /// Iterates over the file's records that satisfy a condition, in key order, while the body makes it false for them.
    /// - Parameter columns: the columns in the buffer after the key.
    func forEachNew(
        _ columns: String, while condition: String, _ body: (RecordBuffer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let batchSize = 1_000
        let count = encoder.references.count + 2
        let row = RecordBuffer(fieldCount: count)
        var last: FieldValue?
        while true {
            let statement = try scratch.statement(
                "SELECT key, \(columns) FROM \(file) WHERE (\(condition)) \(last == nil ? "" : "AND key > ?1") ORDER BY key LIMIT \(batchSize)"
            )
            let start = RecordBuffer(fieldCount: 1)
            if let last {
                start.set(0, last)
                try RecordInserter.bind(start, 0, to: 1, of: statement)
            }
            var batch: [Record] = []
            while try statement.step() {
                row.clear()
                for column in 0..<min(Int(statement.columnCount), count) {
                    DatabaseRecordReader.read(statement, Int32(column), .any, into: row, column)
                }
                batch.append(row.record())
            }
            withExtendedLifetime(start) {}
            guard let end = batch.last else { return }
            last = end.values[0]
            for record in batch {
                row.set(record)
                try body(row)
            }
        }
    }

    /// Puts the database key of a record of the file into a buffer, and returns whether the record existed before.
    /// - Throws: `invalidContent` when the file has no such record.
    func find(_ record: RecordBuffer, _ index: Int, into result: RecordBuffer) throws(BackupError) -> Bool {
        guard let lookUp else { throw unknown(record, index) }
        try RecordInserter.bind(record, index, to: 1, of: lookUp)
        defer { lookUp.reset() }
        guard try lookUp.step() else { throw unknown(record, index) }
        result.clear()
        DatabaseRecordReader.read(lookUp, 0, .any, into: result, 0)
        return lookUp.integer(1) != 0
    }

    /// Whether the file has a record with that key.
    func hasRecord(_ record: RecordBuffer, _ index: Int) throws(BackupError) -> Bool {
        guard let lookUp else { return false }
        try RecordInserter.bind(record, index, to: 1, of: lookUp)
        defer { lookUp.reset() }
        return try lookUp.step()
    }

    /// Whether any record will have that key in the database at the end.
    func isTaken(_ record: RecordBuffer, _ index: Int) throws(BackupError) -> Bool {
        if taken == nil {
            try scratch.execute("CREATE INDEX IF NOT EXISTS target_\(number) ON \(file) (target)")
            taken = try scratch.statement(
                "SELECT 1 FROM \(existing) WHERE key = ?1 UNION ALL SELECT 1 FROM \(file) WHERE target = ?1")
        }
        guard let taken else { return false }
        try RecordInserter.bind(record, index, to: 1, of: taken)
        defer { taken.reset() }
        return try taken.step()
    }

    private func unknown(_ record: RecordBuffer, _ index: Int) -> BackupError {
        BackupError(
            .invalidContent,
            "Import failed: the file has no \(collection.singular) \(record.value(index).messageText)")
    }

    /// The number of existing records that match no record of the file.
    func unclaimedCount() throws(BackupError) -> Int {
        try scratch.number("SELECT count(*) FROM \(existing) WHERE NOT isClaimed")
    }
}

/// A database for the lookups of one import: keys and identities, whose number grows with the records. It is on disk, with a
/// bounded cache in memory. Its content does not outlive the import.
final class ScratchDatabase {
    private static let cacheSizeKiB = 32 << 10

    private let connection: DatabaseConnection
    private let path: String

    /// - Parameter path: of a file that does not exist yet; empty for an unnamed one at SQLite's own place.
    init(at path: String) throws(BackupError) {
        self.path = path
        if !path.isEmpty { _ = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_EXCL, permissions: 0o600) }
        do throws(BackupError) {
            connection = try DatabaseConnection(path, .create, .app)
        } catch {
            if !path.isEmpty { unlink(path) }
            throw error
        }
        // Always discarded: neither journal nor sync. One transaction until the end, so that no page is written early.
        try execute("PRAGMA journal_mode = OFF")
        try execute("PRAGMA synchronous = OFF")
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try execute("PRAGMA temp_store = FILE")
        try execute("PRAGMA cache_size = -\(Self.cacheSizeKiB)")
        try execute("BEGIN")
    }

    deinit {
        connection.close()
        if !path.isEmpty { unlink(path) }
    }

    func statement(_ sql: String) throws(BackupError) -> DatabaseStatement { try connection.statement(sql) }

    func execute(_ sql: String) throws(BackupError) { try connection.execute(sql) }

    /// Number of rows that the last statement changed.
    var changedRowCount: Int { connection.changedRowCount }

    /// The first column of the first row; 0 when there is none.
    func number(_ sql: String) throws(BackupError) -> Int { Int(try connection.integer(sql) ?? 0) }
}
