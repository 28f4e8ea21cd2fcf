import BackupCore
import CSQLite
import GRDB
import GRDBSQLite
import SystemIO

/// The catalog's SQLite file: opening it, its tables, and mapping GRDB's errors to ours.
///
/// Table `repository`: the ID of the repository, and a random generation number that changes when the catalog is rebuilt. Table
/// `packs`: one row for each known pack. Table `chunks`: where each chunk is, by name; while packs are being rewritten, a chunk
/// may be in several. A digest takes four columns (`DigestKey`). All of it can be rebuilt from the packs.
enum CatalogDatabase {
    private static let applicationID = 0x6266_7363  // "bfsc"
    private static let schemaVersion = 2

    private static let schema = """
        CREATE TABLE repository (id TEXT NOT NULL, generation INTEGER NOT NULL);
        CREATE TABLE packs (
            number INTEGER PRIMARY KEY,
            id0 INTEGER NOT NULL, id1 INTEGER NOT NULL, id2 INTEGER NOT NULL, id3 INTEGER NOT NULL,
            kind INTEGER NOT NULL, size INTEGER NOT NULL, chunk_count INTEGER NOT NULL,
            UNIQUE (id0, id1, id2, id3));
        CREATE TABLE chunks (
            id0 INTEGER NOT NULL, id1 INTEGER NOT NULL, id2 INTEGER NOT NULL, id3 INTEGER NOT NULL,
            pack INTEGER NOT NULL, "offset" INTEGER NOT NULL,
            stored_length INTEGER NOT NULL, plain_length INTEGER NOT NULL, codec INTEGER NOT NULL,
            plain_crc32 INTEGER NOT NULL, stored_crc32 INTEGER NOT NULL,
            base0 INTEGER, base1 INTEGER, base2 INTEGER, base3 INTEGER,
            PRIMARY KEY (id0, id1, id2, id3, pack)) WITHOUT ROWID;
        """

    /// Opens the file, and creates it if it does not exist.
    /// - Throws: `repositoryDamaged` when the file is not a whole catalog of this repository and version, and has to be rebuilt.
    static func open(_ place: CatalogLocation, repositoryID: String) throws(BackupError) -> OpenCatalog {
        let path = place.file
        if try !FileSystem.exists(path) {
            // Created here to set the mode; SQLite gives its journal files the mode of the database.
            do {
                _ = try PrivateFile.createFile(path)
            } catch {
                // Another process was faster: its file is as good.
                if error.code != .alreadyExists { throw error }
            }
        }
        return try mapErrors(path: path) {
            let pool = try DatabasePool(path: path, configuration: configuration())
            return OpenCatalog(
                writer: pool, way: .file(place), generation: try prepare(pool, repositoryID: repositoryID))
        }
    }

    /// Opens the file without locks and without its write-ahead log, on a medium that is mounted read-only.
    /// - Throws: `readOnly` when the medium is writable, when there is no file, or when its write-ahead log is not empty.
    static func openImmutable(_ place: CatalogLocation, repositoryID: String) throws(BackupError) -> OpenCatalog {
        let path = place.file
        guard FileSystem.isReadOnly(place.folder), FileSystem.statusIfPresent(path)?.kind == .regular,
            (FileSystem.statusIfPresent(path + "-wal")?.size ?? 0) == 0
        else { throw BackupError(.readOnly, "the catalog cannot be used: it cannot be written", path: path) }
        return try mapErrors(path: path) {
            var readOnly = configuration()
            readOnly.readonly = true
            let pool = try DatabasePool(path: SQLiteAddress.immutable(path), configuration: readOnly)
            let found = try pool.read { database in try generation(database, repositoryID: repositoryID) }
            return OpenCatalog(writer: pool, way: .immutable(place), generation: found)
        }
    }

    /// A catalog in memory, for a repository whose folder cannot be written.
    static func openInMemory(repositoryID: String) throws(BackupError) -> OpenCatalog {
        try mapErrors(path: ":memory:") {
            let queue = try DatabaseQueue(configuration: configuration())
            _ = try prepare(queue, repositoryID: repositoryID)
            return OpenCatalog(writer: queue, way: .memory, generation: nil)
        }
    }

    /// Runs `body` and maps what GRDB throws to `BackupError`: `repositoryDamaged` for a damaged file, `noSpace`, `busy`,
    /// `readOnly`, else `inputOutput`.
    static func mapErrors<Result>(path: String, _ body: () throws -> Result) throws(BackupError) -> Result {
        do {
            return try body()
        } catch let error as BackupError {
            throw error
        } catch let error as DatabaseError {
            let code: BackupError.Code
            switch error.resultCode {
            // SQLite's error when there is no space for the index of the write-ahead log.
            case _ where error.extendedResultCode == .SQLITE_IOERR_SHMSIZE: code = .noSpace
            case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_SCHEMA, .SQLITE_MISMATCH: code = .repositoryDamaged
            case .SQLITE_FULL: code = .noSpace
            case .SQLITE_BUSY, .SQLITE_LOCKED: code = .busy
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM: code = .readOnly
            default: code = .inputOutput
            }
            let reason: Message = error.message.map(Message.verbatim) ?? "SQLite error \(error.resultCode.rawValue)"
            throw BackupError(
                code, "the catalog cannot be used: \(reason)", path: path,
                cause: .sqlite(code: error.extendedResultCode.rawValue))
        } catch {
            throw BackupError(.inputOutput, "the catalog cannot be used: \(error)", path: path)
        }
    }

    private static func configuration() -> Configuration {
        var configuration = Configuration()
        configuration.label = "catalog"
        configuration.busyMode = .timeout(30)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            // Losing the latest changes does no harm, since the catalog can be rebuilt. But it must never be half-written.
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        return configuration
    }

    /// - Returns: the catalog's generation.
    private static func prepare(_ writer: some DatabaseWriter, repositoryID: String) throws -> Int64 {
        try writer.writeWithoutTransaction { database in
            var generation = Int64.random(in: .min ... .max)
            try database.inTransaction(.immediate) {
                let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
                let application = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
                let tableCount = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
                if version == 0, application == 0, tableCount == 0 {
                    try database.execute(sql: schema)
                    try database.execute(sql: "INSERT INTO repository VALUES (?, ?)", arguments: [repositoryID, generation])
                    try database.execute(sql: "PRAGMA user_version = \(schemaVersion)")
                    try database.execute(sql: "PRAGMA application_id = \(applicationID)")
                } else {
                    generation = try Self.generation(database, repositoryID: repositoryID)
                }
                return .commit
            }
            return generation
        }
    }

    /// The generation of a catalog file.
    /// - Throws: `repositoryDamaged` when it is not a catalog of this version and repository.
    private static func generation(_ database: Database, repositoryID: String) throws -> Int64 {
        guard try Int.fetchOne(database, sql: "PRAGMA user_version") == schemaVersion,
            try Int.fetchOne(database, sql: "PRAGMA application_id") == applicationID,
            let row = try Row.fetchOne(database, sql: "SELECT id, generation FROM repository"), row.text(0) == repositoryID,
            let found = try row.integerIfPresent(1)
        else { throw BackupError(.repositoryDamaged, "the catalog is of another version or repository") }
        return found
    }
}

/// The connections to a catalog, all to the same file.
struct OpenCatalog {
    /// How a catalog is used.
    enum Way: Equatable {
        /// Read and written in place.
        case file(CatalogLocation)
        /// Only read, on a read-only medium.
        case immutable(CatalogLocation)
        case memory

        var place: CatalogLocation? {
            switch self {
            case .file(let place), .immutable(let place): place
            case .memory: nil
            }
        }
    }

    let writer: any DatabaseWriter
    let way: Way
    /// The generation of this catalog; `nil` for one in memory.
    let generation: Int64?

    /// For messages.
    var path: String { way.place?.file ?? ":memory:" }

    /// Whether the file was moved or removed. New connections would then open another file than the existing ones.
    func hasMoved() throws -> Bool {
        guard case .file = way else { return false }
        return try writer.writeWithoutTransaction { database in
            var answer: Int32 = 0
            let result = sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
            guard result == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
            return answer != 0
        }
    }
}

/// Empties the catalog's file in place, whatever is in it. After removing it instead, other processes would keep using an
/// unlinked file, some of their connections that file and others the next one. This way SQLite's own locks and its log inform
/// every process.
///
/// Source: `SQLITE_DBCONFIG_RESET_DATABASE`, https://www.sqlite.org/c3ref/c_dbconfig_defensive.html
enum CatalogReset {
    private static let busyTimeoutMilliseconds: Int32 = 1000

    /// - Throws: `busy` when the file's first page is damaged while others use it; the errors of `CatalogDatabase.mapErrors`. The
    ///   file is unchanged then.
    static func run(path: String) throws(BackupError) {
        try CatalogDatabase.mapErrors(path: path) {
            var connection: OpaquePointer?
            let opened = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
            // A connection must be closed even if opening it failed.
            defer { sqlite3_close(connection) }
            guard opened == SQLITE_OK, let connection else { throw DatabaseError(resultCode: ResultCode(rawValue: opened)) }
            sqlite3_busy_timeout(connection, busyTimeoutMilliseconds)
            // Makes SQLite read what it can of the file, so that it keeps its write-ahead log. A failure is expected.
            sqlite3_exec(connection, "PRAGMA user_version", nil, nil, nil)
            backupfs_set_resetting(connection, 1)
            let result = sqlite3_exec(connection, "VACUUM", nil, nil, nil)
            backupfs_set_resetting(connection, 0)
            guard result == SQLITE_OK else {
                throw DatabaseError(
                    resultCode: ResultCode(rawValue: result), message: String(cString: sqlite3_errmsg(connection)))
            }
        }
    }
}
