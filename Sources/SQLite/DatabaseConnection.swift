import BackupCore
import CSQLite
import Glibc
import SystemIO

/// A failure that SQLite reported.
package struct DatabaseFailure {
    /// What a part of the program may decide by.
    package enum Kind {
        case locked, full, noSpaceForLogIndex, cannotOpen, damaged, readOnly, forbidden, unauthorized, tooBig, refused,
            interrupted
        case unexpected, changedSchema, other
    }

    package let kind: Kind
    /// In SQLite's words.
    package let reason: String
    package let path: String

    init(code: Int32, reason: String, path: String) {
        self.reason = reason
        self.path = path
        kind =
            switch code & 0xFF {
            case SQLITE_BUSY, SQLITE_LOCKED: .locked
            case SQLITE_FULL: .full
            // SQLITE_IOERR_SHMSIZE, an expression in C.
            case SQLITE_IOERR where code == SQLITE_IOERR | 19 << 8: .noSpaceForLogIndex
            case SQLITE_CANTOPEN: .cannotOpen
            case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
            case SQLITE_READONLY: .readOnly
            case SQLITE_PERM: .forbidden
            case SQLITE_AUTH: .unauthorized
            case SQLITE_TOOBIG: .tooBig
            case SQLITE_CONSTRAINT: .refused
            case SQLITE_INTERRUPT: .interrupted
            case SQLITE_ERROR: .unexpected
            case SQLITE_SCHEMA, SQLITE_MISMATCH: .changedSchema
            default: .other
            }
    }
}

extension DatabaseFailure {
    /// The code for a database of the program's own, which no other program uses.
    /// - Parameter damaged: for one that is damaged.
    package func code(damaged: BackupError.Code) -> BackupError.Code {
        switch kind {
        // The first is SQLite's error when there is no space for the index of the write-ahead log.
        case .noSpaceForLogIndex, .full: .noSpace
        case .damaged, .unexpected, .changedSchema: damaged
        case .locked: .busy
        case .readOnly, .cannotOpen, .forbidden: .readOnly
        case .unauthorized, .tooBig, .refused, .interrupted, .other: .inputOutput
        }
    }
}

/// How a part of the program reports SQLite's failures.
package struct DatabaseErrors: Sendable {
    /// Whether each step of a statement is a point where a cancelled operation ends.
    let isCancellable: Bool
    let error: @Sendable (DatabaseFailure) -> BackupError

    package init(isCancellable: Bool, _ error: @escaping @Sendable (DatabaseFailure) -> BackupError) {
        self.isCancellable = isCancellable
        self.error = error
    }
}

/// An open database.
///
/// `@unchecked Sendable`: one thread at a time uses it, as in SQLite's multi-thread mode; `ConnectionPool` sees to that.
package final class DatabaseConnection: @unchecked Sendable {
    package enum Access {
        case readOnly
        /// The file must exist.
        case readWrite
        /// The file is created if it is missing. `:memory:` is in memory, and an empty path is a file that SQLite removes.
        case create
        /// Read without locks and without a log: a file that does not change.
        case immutable
        /// Read with locks, while nothing there is created or changed, not even beside the file.
        case untouched
    }

    private(set) var handle: OpaquePointer?
    /// Of the file, as named in errors.
    package let path: String
    let errors: DatabaseErrors
    private let busyTimeoutSeconds: Double
    private var kept: [String: DatabaseStatement] = [:]

    /// - Parameter busyTimeoutSeconds: how long to wait for the locks of other connections.
    package init(
        _ path: String, _ access: Access, _ errors: DatabaseErrors, busyTimeoutSeconds: Double = 0
    ) throws(BackupError) {
        self.path = path
        self.errors = errors
        self.busyTimeoutSeconds = busyTimeoutSeconds
        let (address, flags): (String, Int32) =
            switch access {
            case .readOnly: (path, SQLITE_OPEN_READONLY)
            case .readWrite: (path, SQLITE_OPEN_READWRITE)
            case .create: (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
            case .immutable: (SQLiteAddress.immutable(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            case .untouched: (SQLiteAddress.readOnly(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            }
        let files = access == .untouched ? ReadOnlyFiles.name : nil
        guard access != .untouched || files != nil else { throw failure(code: SQLITE_NOMEM) }
        guard sqlite3_open_v2(address, &handle, flags | SQLITE_OPEN_NOMUTEX, files) == SQLITE_OK else {
            // It must be closed even if opening it failed.
            let failure = failure()
            close()
            throw failure
        }
        sqlite3_busy_timeout(handle, Int32(busyTimeoutSeconds * 1_000))
    }

    deinit { close() }

    /// Its statements must not be used any more.
    package func close() {
        kept = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// The last error.
    package func failure() -> BackupError {
        failure(code: sqlite3_extended_errcode(handle), reason: String(cString: sqlite3_errmsg(handle)))
    }

    /// An error of a call that does not record it in the connection.
    func failure(code: Int32, reason: String? = nil, path: String? = nil) -> BackupError {
        let reason = reason ?? String(cString: sqlite3_errstr(code))
        return errors.error(DatabaseFailure(code: code, reason: reason, path: path ?? self.path)).caused(by: .sqlite(code: code))
    }

    // MARK: Statements

    package func statement(_ sql: String) throws(BackupError) -> DatabaseStatement { try DatabaseStatement(self, sql) }

    /// A statement that stays prepared until the connection is closed. The caller must reset it after use.
    package func keptStatement(_ sql: String) throws(BackupError) -> DatabaseStatement {
        if let known = kept[sql] { return known }
        let statement = try statement(sql)
        kept[sql] = statement
        return statement
    }

    /// Runs one or several statements for their effect, without looking for a cancellation between them.
    package func execute(_ sql: String) throws(BackupError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// Runs one statement for its effect.
    /// - Throws: also `interrupted`, like `DatabaseStatement.step`.
    package func run(_ sql: String, _ texts: String...) throws(BackupError) { try statement(sql).run(with: texts) }

    /// The first column of the first row; `nil` when there is none.
    package func integer(_ sql: String) throws(BackupError) -> Int64? {
        let statement = try statement(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The first column of the first row; `nil` when there is none.
    package func text(_ sql: String) throws(BackupError) -> String? {
        let statement = try statement(sql)
        return try statement.step() ? statement.text(0) : nil
    }

    /// Whether a query has a row.
    package func hasRow(_ sql: String, _ texts: String...) throws(BackupError) -> Bool {
        let statement = try statement(sql)
        try statement.bind(texts)
        return try statement.step()
    }

    /// Number of rows that the last statement changed.
    package var changedRowCount: Int { Int(sqlite3_changes(handle)) }

    /// The number of the row that was inserted last.
    package var lastRowNumber: Int64 { sqlite3_last_insert_rowid(handle) }

    // MARK: Transactions

    /// When a transaction takes its lock.
    package enum TransactionKind: String {
        /// With its first statement: reads are then of one moment.
        case deferred = "DEFERRED"
        /// The write lock, at its start.
        case immediate = "IMMEDIATE"
    }

    /// Runs `body` in a transaction, which commits when it returns, and rolls back after any error.
    package func transaction<Result>(
        _ kind: TransactionKind, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        try execute("BEGIN \(kind.rawValue) TRANSACTION")
        do throws(BackupError) {
            let result = try body()
            // SQLite itself rolls back after some errors.
            guard isInTransaction else { throw failure(code: SQLITE_ABORT, reason: "Transaction was aborted") }
            try execute("COMMIT TRANSACTION")
            return result
        } catch {
            if isInTransaction { try? execute("ROLLBACK TRANSACTION") }
            throw error
        }
    }

    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Changes the journal to a write-ahead log, outside of a transaction. Waits for the locks of other connections.
    package func useLog() throws(BackupError) {
        let end = SystemClock.monotonicNanoseconds() + UInt64(busyTimeoutSeconds * 1e9)
        while true {
            do throws(BackupError) {
                if try text("PRAGMA journal_mode = WAL") == "wal" { return }
                throw failure(code: SQLITE_ERROR, reason: "could not activate WAL Mode at path: \(path)")
            } catch {
                // SQLite does not wait: two, each with a read lock, would wait for each other. They must not return at once.
                guard sqlite3_errcode(handle) & 0xFF == SQLITE_BUSY, SystemClock.monotonicNanoseconds() < end else { throw error }
                usleep(.random(in: 1_000...10_000))
            }
        }
    }

    // MARK: Limits

    /// Refuses to attach other files.
    package func refuseAttaching() { sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0) }

    /// Refuses longer texts and blobs.
    package func limitValues(toBytes count: Int32) { sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, count) }

    /// Treats a quoted name that does not exist as an error, and not as a text.
    package func refuseQuotedTexts() { backupfs_refuse_quoted_texts(handle) }

    /// Disables all triggers on this connection.
    package func disableTriggers() { backupfs_disable_triggers(handle) }

    // MARK: The file

    /// Whether the file was moved or removed.
    package func hasMoved() throws(BackupError) -> Bool {
        var answer: Int32 = 0
        let result = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
        guard result == SQLITE_OK else { throw failure(code: result) }
        return answer != 0
    }

    /// The file's change counter (SQLite's file format, section 1.3.7), which each commit with a rollback journal increments.
    /// Read through the connection's file and without a lock: a program that copies over the database holds it exclusively, and
    /// closing another descriptor in this process would drop all its locks.
    package func changeCounter() throws(BackupError) -> Int64 {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
            let read = file.pointee.pMethods?.pointee.xRead
        else { throw failure() }
        var bytes = [UInt8](repeating: 0, count: 4)
        let result = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress, 4, 24) }
        // SQLITE_IOERR_SHORT_READ, an expression in C: an empty file is an empty database.
        guard result == SQLITE_OK || result == SQLITE_IOERR | 2 << 8 else { throw failure(code: result) }
        return bytes.reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Empties the database, whatever is in its file. SQLite's own locks and its log inform every process that uses it.
    ///
    /// Source: `SQLITE_DBCONFIG_RESET_DATABASE`, https://www.sqlite.org/c3ref/c_dbconfig_defensive.html
    package func empty() throws(BackupError) {
        // Makes SQLite read what it can of the file, so that it keeps its write-ahead log. A failure is expected.
        try? execute("PRAGMA user_version")
        backupfs_set_resetting(handle, 1)
        defer { backupfs_set_resetting(handle, 0) }
        try execute("VACUUM")
    }
}

/// Special ways to open a file with SQLite: `file:` URIs, with every byte but the plainest percent-encoded.
enum SQLiteAddress {
    /// A file that does not change: SQLite takes no locks, reads no log, and writes nothing.
    static func immutable(_ path: String) -> String { address(path) + "?immutable=1&mode=ro" }

    /// A file that another program may be writing to: SQLite uses its locks. It reads a log's index if there is one, and neither
    /// creates nor changes it.
    static func readOnly(_ path: String) -> String { address(path) + "?mode=ro&readonly_shm=1" }

    private static func address(_ path: String) -> String {
        var text = "file:"
        for byte in FileSystem.absolutePath(path).utf8 {
            switch byte {
            case 47...57, 65...90, 97...122, 45, 46, 95: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + Hexadecimal.encode([byte])
            }
        }
        return text
    }
}
