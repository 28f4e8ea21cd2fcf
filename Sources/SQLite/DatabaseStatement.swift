import BackupCore
import CSQLite
import SystemIO

/// A prepared statement, for one thread, while its connection is open. Parameter indices begin at 1 and column indices at 0, as
/// in C. Loops over millions of rows call SQLite directly: what a loop calls for each column is inlined.
package final class DatabaseStatement {
    package enum ColumnType: Int32 {
        case integer = 1
        case real, text, blob, null
    }

    @usableFromInline let handle: OpaquePointer
    private unowned let connection: DatabaseConnection
    private let isCancellable: Bool

    init(_ connection: DatabaseConnection, _ sql: String) throws(BackupError) {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection.handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw connection.failure()
        }
        handle = statement
        self.connection = connection
        isCancellable = connection.errors.isCancellable
    }

    deinit { sqlite3_finalize(handle) }

    /// - Returns: false when there are no more rows.
    /// - Throws: also `interrupted`, in a thread whose operation was cancelled, if the connection's errors say so.
    package func step() throws(BackupError) -> Bool {
        if isCancellable { try Cancellation.check() }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw connection.failure()
        }
    }

    /// Resets a statement for reuse; its results become invalid.
    package func reset() { sqlite3_reset(handle) }

    /// Runs it once, for its effect, and resets it.
    package func run() throws(BackupError) {
        defer { reset() }
        _ = try step()
    }

    /// Runs it for its effect with texts as its parameters.
    package func run(with texts: [String]) throws(BackupError) {
        try bind(texts)
        try run()
    }

    /// Calls `body` for each row, and resets the statement.
    package func forEachRow(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        defer { reset() }
        while try step() { try body() }
    }

    // MARK: Parameters

    @inlinable package func bind(_ parameter: Int32, integer: Int64) { sqlite3_bind_int64(handle, parameter, integer) }
    @inlinable package func bind(_ parameter: Int32, real: Double) { sqlite3_bind_double(handle, parameter, real) }
    @inlinable package func bindNull(_ parameter: Int32) { sqlite3_bind_null(handle, parameter) }

    /// SQLite reads the bytes during `run`, without a copy: they must stay in place until then.
    package func bind(_ parameter: Int32, text: UnsafeRawBufferPointer) throws(BackupError) {
        try bind(parameter, text, nil)
    }

    /// SQLite makes its own copy of the text, in UTF-8.
    package func bind(_ parameter: Int32, copyingText text: [UInt8]) throws(BackupError) {
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(BackupError) in try bind(parameter, bytes, Self.copies) }
        }
        try result.get()
    }

    /// As the first parameters.
    package func bind(_ texts: [String]) throws(BackupError) {
        for (index, text) in texts.enumerated() { try bind(Int32(index + 1), copyingText: Array(text.utf8)) }
    }

    private func bind(
        _ parameter: Int32, _ text: UnsafeRawBufferPointer, _ destructor: sqlite3_destructor_type?
    ) throws(BackupError) {
        let characters = text.baseAddress?.assumingMemoryBound(to: CChar.self)
        try require(
            sqlite3_bind_text64(handle, parameter, characters, UInt64(text.count), destructor, UInt8(SQLITE_UTF8)))
    }

    /// SQLite reads the bytes during `run`, like those of a text.
    package func bind(_ parameter: Int32, blob: UnsafeRawBufferPointer) throws(BackupError) {
        // A null destructor is SQLITE_STATIC.
        try require(sqlite3_bind_blob64(handle, parameter, blob.baseAddress, UInt64(blob.count), nil))
    }

    /// SQLite makes its own copy of the bytes.
    package func bind(_ parameter: Int32, copying blob: UnsafeRawBufferPointer) throws(BackupError) {
        try require(sqlite3_bind_blob64(handle, parameter, blob.baseAddress, UInt64(blob.count), Self.copies))
    }

    /// Binds the exact value of a column of another statement's row, possibly of another connection: type and bytes stay
    /// unchanged.
    package func bind(_ parameter: Int32, value column: Int32, of row: DatabaseStatement) throws(BackupError) {
        try require(sqlite3_bind_value(handle, parameter, sqlite3_column_value(row.handle, column)))
    }

    private func require(_ result: Int32) throws(BackupError) {
        guard result == SQLITE_OK else { throw connection.failure() }
    }

    /// SQLITE_TRANSIENT, a cast in C.
    static var copies: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    // MARK: Columns

    package var columnCount: Int32 { sqlite3_column_count(handle) }

    @inlinable package func type(_ column: Int32) -> ColumnType {
        ColumnType(rawValue: sqlite3_column_type(handle, column)) ?? .null
    }

    @inlinable package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    @inlinable package func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    /// The bytes of a text or blob, valid until the next step; a text may contain NUL bytes, and need not be valid UTF-8.
    @inlinable package func bytes(_ column: Int32, isText: Bool) -> UnsafeRawBufferPointer {
        let start = isText ? UnsafeRawPointer(sqlite3_column_text(handle, column)) : sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    package func text(_ column: Int32) -> String { String(decoding: bytes(column, isText: true), as: UTF8.self) }
}

/// A name as an SQL identifier.
package func quotedIdentifier(_ name: String) -> String {
    var quoted = "\""
    for character in name.unicodeScalars {
        if character == "\"" { quoted += "\"" }
        quoted.unicodeScalars.append(character)
    }
    return quoted + "\""
}
