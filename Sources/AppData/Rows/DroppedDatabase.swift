import BackupCore
import Glibc
import SQLite
import SystemIO

/// An untrusted database file as a source of records. It is treated as hostile: it is opened read-only and immutable (a log or
/// journal beside it is ignored), its schema is not trusted to call functions, it is checked before anything is read, and an
/// authorizer allows only reading the definition's own tables.
public struct DroppedDatabase: RecordSource, Sendable {
    /// The longest text or blob, in bytes.
    private static let valueLimitBytes: Int32 = 64 << 20

    /// Path of the dropped file.
    public let path: String
    /// The app's definition, in the wire format of the file's data.
    public let definition: AppDefinition
    /// Data in the file that its records do not contain.
    public let unexported: UnexportedData?
    /// The file's modification time replaces the creation time, which a database does not record.
    private let creationTime: Timestamp
    /// The schema version if the file does not record one.
    private let fallbackVersion: Int?

    /// Checks the whole file.
    /// - Parameter needsVersion: whether to refuse a file without a schema version. In the app's own database that means the
    ///   current one.
    /// - Throws: `invalidContent` for a file that is not a database, or not this app's; `damagedContent` for a damaged one.
    public init(path: String, definition: AppDefinition, needsVersion: Bool = true) throws(BackupError) {
        let unchecked = DroppedDatabase(
            unchecked: path, definition: definition,
            creationTime: try FileSystem.status(path).modificationTime.wholeSeconds)
        var format = definition
        var unexported: UnexportedData?
        try unchecked.withConnection { connection throws(BackupError) in
            (format, unexported) = try unchecked.check(connection)
        }
        self.init(
            unchecked: path, definition: format, unexported: unexported, creationTime: unchecked.creationTime,
            fallbackVersion: needsVersion ? nil : format.schemaVersion)
    }

    private init(
        unchecked path: String, definition: AppDefinition, unexported: UnexportedData? = nil, creationTime: Timestamp,
        fallbackVersion: Int? = nil
    ) {
        self.fallbackVersion = fallbackVersion
        self.unexported = unexported
        self.path = path
        self.definition = definition
        self.creationTime = creationTime
    }

    public func visit(with visitor: any RecordVisitor) throws(BackupError) {
        try withConnection { connection throws(BackupError) in
            connection.allowOnlyReading()
            let reader = DatabaseRecordReader(connection: connection, definition: definition)
            try reader.visitAll(with: visitor, creationTime: creationTime, schemaVersion: fallbackVersion)
        }
    }

    func withConnection(_ body: (DatabaseConnection) throws(BackupError) -> Void) throws(BackupError) {
        var bodyError: BackupError?
        do throws(BackupError) {
            try Self.withConnection(to: path, acceptsUnknownCollations: definition.coversWholeDatabase) {
                (connection) throws(BackupError) in
                // A value is held in memory whole. For a whole database none is.
                if !definition.coversWholeDatabase { connection.limitValues(toBytes: Self.valueLimitBytes) }
                do throws(BackupError) { try body(connection) } catch { bodyError = error }
            }
        } catch {
            throw translated(error)
        }
        if let bodyError { throw bodyError }
    }

    /// Opens a file read-only, and ignores a log beside it.
    /// - Parameter acceptsUnknownCollations: whether to accept collations that only the app knows.
    static func withConnection(
        to path: String, acceptsUnknownCollations: Bool, _ body: (DatabaseConnection) throws(BackupError) -> Void
    ) throws(BackupError) {
        let connection = try DatabaseConnection(path, .immutable, .app)
        defer { connection.close() }
        connection.refuseAttaching()
        if acceptsUnknownCollations { UnknownCollations.accept(on: connection) }
        try connection.execute(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON")
        try body(connection)
    }

    /// - Returns: the wire format of the data, and the data that it leaves out.
    private func check(_ connection: DatabaseConnection) throws(BackupError) -> (AppDefinition, UnexportedData?) {
        var format = definition
        var unexported: UnexportedData?
        var problem: Message?
        do throws(BackupError) {
            guard try Self.firstProblem(connection) == nil else { throw damaged() }
            // Without its tables no query is possible; the check below reports the missing ones.
            let check = try DatabaseSchemaCheck(of: connection, definition)
            problem = check.firstMissingObject()
            if problem == nil {
                format = try definition.format(ofDatabase: connection)
                problem = DatabaseSchemaCheck(schema: check.schema, definition: format).firstProblem()
            }
            if problem == nil { unexported = try check.unexportedData() }
        } catch {
            throw translated(error)
        }
        if let problem { throw BackupError(.invalidContent, ImportMessages.failure(problem), path: path) }
        return (format, unexported)
    }

    private func damaged() -> BackupError {
        BackupError(.damagedContent, ImportMessages.corruptedFile, path: path)
    }

    /// The source document's words for unreadable files.
    private func translated(_ error: BackupError) -> BackupError {
        // SQLite also returns "error" for a header that requires an unknown feature.
        guard [.damagedContent, .accessDenied, .invalidContent].contains(error.code) else { return error }
        let descriptor = try? OwnedDescriptor.open(path, O_RDONLY)
        var start: [UInt8]?
        if let descriptor { start = try? descriptor.readExactly(at: 0, count: SQLiteHeader.magic.count) }
        if start == SQLiteHeader.magic { return damaged() }
        return BackupError(
            .invalidContent, ImportMessages.invalidFormat, path: path,
            findings: ["the file is not an SQLite database"])
    }
}

extension DroppedDatabase {
    /// Checks a copy of a database as a restore of it would, and that no index lacks rows of its table.
    /// - Parameter path: a file that no other connection has open, without a log.
    /// - Returns: the first problem, in SQLite's words; `nil` when there is none.
    public static func damage(ofCopy path: String) throws(BackupError) -> String? {
        var problem: String?
        do throws(BackupError) {
            try withConnection(to: path, acceptsUnknownCollations: true) { (connection) throws(BackupError) in
                problem = try firstProblem(connection)
                guard problem == nil else { return }
                problem = try IndexCheck(schema: DatabaseSchema.read(connection)).problem()
            }
        } catch {
            guard error.code == .damagedContent else { throw error }
            problem = error.message.english
        }
        return problem
    }

    /// Rows that violate a CHECK are the app's own, and not damage.
    static func firstProblem(_ connection: DatabaseConnection) throws(BackupError) -> String? {
        try IntegrityCheck(.quick, of: connection).problems(limit: 1).first
    }

    /// Makes SQLite check every page, index and row (`PRAGMA integrity_check`).
    /// - Parameter limit: the number of problems after which it stops.
    /// - Returns: the problems, in SQLite's words; empty when there are none.
    /// - Throws: `damagedContent` when it cannot be read at all.
    public func integrityProblems(limit: Int) throws(BackupError) -> [String] {
        var problems: [String] = []
        try withConnection { connection throws(BackupError) in
            problems = try IntegrityCheck(.full, of: connection).problems(limit: limit)
        }
        return problems
    }

    /// The rows with dangling references, at most `limit` of them.
    public func danglingReferences(limit: Int) throws(BackupError) -> [String] {
        var found: [String] = []
        try withConnection { connection throws(BackupError) in
            try DanglingReferences.forEach(in: DatabaseSchema.read(connection)) { keys in
                guard found.count < limit else { return }
                found.append(
                    "row \(keys.text(1)) of the table \(keys.text(0)) refers to a row of \(keys.text(2)) that is not there")
            }
        }
        return found
    }
}
