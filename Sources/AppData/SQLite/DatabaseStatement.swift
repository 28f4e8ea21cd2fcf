import BackupCore
import GRDB
import GRDBSQLite
import SystemIO

/// A prepared statement for loops over many rows, directly on SQLite's C interface. For one thread, while its connection is open.
/// Parameter indices begin at 1 and column indices at 0, as in C.
final class DatabaseStatement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer?
    private let path: String

    init(_ connection: OpaquePointer?, _ sql: String, path: String) throws(BackupError) {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw DatabaseFailure.last(connection, path: path)
        }
        handle = statement
        self.connection = connection
        self.path = path
    }

    deinit { sqlite3_finalize(handle) }

    /// - Returns: false when there are no more rows.
    /// - Throws: also `interrupted`, in a thread whose operation was cancelled.
    func step() throws(BackupError) -> Bool {
        try Cancellation.check()
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw DatabaseFailure.last(connection, path: path)
        }
    }

    /// Resets a statement for reuse; its results become invalid.
    func reset() { sqlite3_reset(handle) }

    /// Runs it once, for its effect, and resets it.
    /// - Throws: also `interrupted`, in a thread whose operation was cancelled.
    func run() throws(BackupError) {
        try Cancellation.check()
        let result = sqlite3_step(handle)
        if result != SQLITE_DONE && result != SQLITE_ROW {
            let failure = DatabaseFailure.last(connection, path: path)
            sqlite3_reset(handle)
            throw failure
        }
        sqlite3_reset(handle)
    }

    /// Runs it for its effect with a text as its only parameter.
    func run(with text: String) throws(BackupError) {
        let parameter = RecordBuffer(fieldCount: 1)
        parameter.set(0, text: text)
        try bind(1, text: parameter.bytes(0))
        try withExtendedLifetime(parameter) { () throws(BackupError) in try run() }
    }

    func bind(_ parameter: Int32, integer: Int64) { sqlite3_bind_int64(handle, parameter, integer) }
    func bind(_ parameter: Int32, real: Double) { sqlite3_bind_double(handle, parameter, real) }
    func bindNull(_ parameter: Int32) { sqlite3_bind_null(handle, parameter) }

    /// SQLite reads the bytes during `run`, without a copy: they must stay in place until then.
    func bind(_ parameter: Int32, text: UnsafeRawBufferPointer) throws(BackupError) {
        let characters = text.baseAddress?.assumingMemoryBound(to: CChar.self)
        // A null destructor is SQLITE_STATIC.
        let result = sqlite3_bind_text64(handle, parameter, characters, UInt64(text.count), nil, UInt8(SQLITE_UTF8))
        guard result == SQLITE_OK else { throw DatabaseFailure.last(connection, path: path) }
    }

    func bind(_ parameter: Int32, blob: UnsafeRawBufferPointer) throws(BackupError) {
        guard sqlite3_bind_blob64(handle, parameter, blob.baseAddress, UInt64(blob.count), nil) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
    }

    /// Binds the exact value of a column of another statement's row, possibly of another connection: type and bytes stay
    /// unchanged.
    func bind(_ parameter: Int32, value column: Int32, of row: DatabaseStatement) throws(BackupError) {
        guard sqlite3_bind_value(handle, parameter, sqlite3_column_value(row.handle, column)) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
    }

    /// SQLite makes its own copy of the bytes.
    func bind(_ parameter: Int32, copying blob: UnsafeRawBufferPointer) throws(BackupError) {
        // SQLITE_TRANSIENT, a cast in C.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        guard sqlite3_bind_blob64(handle, parameter, blob.baseAddress, UInt64(blob.count), copies) == SQLITE_OK else {
            throw DatabaseFailure.last(connection, path: path)
        }
    }

    var columnCount: Int32 { sqlite3_column_count(handle) }
    func columnType(_ column: Int32) -> Int32 { sqlite3_column_type(handle, column) }
    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    /// The bytes of a text or blob, valid until the next step; a text may contain NUL bytes, and need not be valid UTF-8.
    func bytes(_ column: Int32, isText: Bool) -> UnsafeRawBufferPointer {
        let start = isText ? UnsafeRawPointer(sqlite3_column_text(handle, column)) : sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column, isText: true), as: UTF8.self) }
}

/// A name as an SQL identifier.
func quotedIdentifier(_ name: String) -> String {
    var quoted = "\""
    for character in name.unicodeScalars {
        if character == "\"" { quoted += "\"" }
        quoted.unicodeScalars.append(character)
    }
    return quoted + "\""
}

/// Maps SQLite result codes to our errors.
enum DatabaseFailure {
    static func error(code: Int32, reason: String, path: String) -> BackupError {
        described(code, reason, path).caused(by: .sqlite(code: code))
    }

    private static func described(_ code: Int32, _ reason: String, _ path: String) -> BackupError {
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            return BackupError(
                .databaseInUse, "the app holds its database locked", path: path, remedy: "Close the app, or wait, and try again.")
        case SQLITE_FULL:
            return BackupError(
                .noSpace, "the database cannot grow: \(reason)", path: path,
                remedy: SpaceShortage.remedy(at: path))
        // SQLite's code when it cannot create the files beside the database.
        case SQLITE_CANTOPEN where SpaceShortage.isExhausted(at: path):
            return BackupError(
                .noSpace, "the database cannot be opened: \(reason)", path: path, remedy: SpaceShortage.remedy(at: path))
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            return BackupError(
                .damagedContent, "the database is damaged: \(reason)", path: path,
                remedy: "Move it away, with the files beside it that have its name and -wal or -shm, and restore a backup.")
        case SQLITE_READONLY:
            return BackupError(.readOnly, "the database cannot be written: \(reason)", path: path)
        case SQLITE_PERM, SQLITE_AUTH:
            return BackupError(.accessDenied, "the database may not be used: \(reason)", path: path)
        case SQLITE_CANTOPEN:
            return BackupError(
                .accessDenied, "the database cannot be opened: \(reason)", path: path,
                remedy: "Check that the file exists, and that the file and its folder can be read and written.")
        case SQLITE_TOOBIG: return BackupError(.tooLarge, "a value is too large for the database", path: path)
        case SQLITE_CONSTRAINT:
            return BackupError(.invalidContent, "Import failed: the database refused a record: \(reason)", path: path)
        case SQLITE_INTERRUPT: return BackupError(.interrupted, "the database operation was interrupted", path: path)
        case SQLITE_ERROR: return BackupError(.invalidContent, "the database is not what was expected: \(reason)", path: path)
        default: return BackupError(.inputOutput, "the database could not be used: \(reason)", path: path)
        }
    }

    /// The connection's last error.
    static func last(_ connection: OpaquePointer?, path: String) -> BackupError {
        error(code: sqlite3_extended_errcode(connection), reason: String(cString: sqlite3_errmsg(connection)), path: path)
    }

    /// Runs calls of GRDB, and converts their errors to our own.
    static func mapping<Result>(_ path: String, _ body: () throws -> Result) throws(BackupError) -> Result {
        do {
            return try body()
        } catch let failure as BackupError {
            throw failure
        } catch let failure as DatabaseError {
            throw error(
                code: failure.extendedResultCode.rawValue, reason: failure.message ?? "\(failure.resultCode)", path: path)
        } catch {
            throw BackupError(.inputOutput, "the database could not be used: \(error)", path: path)
        }
    }
}
