import BackupCore
import SQLite
import SystemIO

/// The catalog's SQLite file: opening it, its tables, and what its errors mean.
///
/// Table `repository`: the ID of the repository, and a random generation number that changes when the catalog is rebuilt. Table
/// `packs`: one row for each known pack. Table `chunks`: where each chunk is, by name; while packs are being rewritten, a chunk
/// may be in several. A digest takes four columns (`DigestKey`). Table `digests`: see `ContentValue`. All of it can be rebuilt
/// from the packs.
enum CatalogDatabase {
    private static let applicationID: Int64 = 0x6266_7363  // "bfsc"
    private static let schemaVersion: Int64 = 2
    /// The version of a catalog with a chunk of a codec that older programs do not know. They rebuild such a catalog without the
    /// packs that they cannot read; otherwise they would call it damaged in the middle of a backup.
    private static let versionWithMiddles: Int64 = 3
    private static let writerTimeoutSeconds = 30.0
    private static let readerTimeoutSeconds = 10.0
    private static let readerLimit = 4

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
        let writer = try DatabaseConnection(path, .create, .catalog, busyTimeoutSeconds: writerTimeoutSeconds)
        // Losing the latest changes does no harm, since the catalog can be rebuilt. But it must never be half-written.
        try writer.execute("PRAGMA synchronous = NORMAL")
        try writer.useLog()
        let generation = try prepare(writer, repositoryID: repositoryID)
        let pool = ConnectionPool(writer: writer, readerLimit: readerLimit) { () throws(BackupError) in
            try DatabaseConnection(path, .readOnly, .catalog, busyTimeoutSeconds: readerTimeoutSeconds)
        }
        return OpenCatalog(connections: pool, way: .file(place), generation: generation)
    }

    /// Opens the file without locks and without its write-ahead log, on a medium that is mounted read-only.
    /// - Throws: `readOnly` when the medium is writable, when there is no file, or when its write-ahead log is not empty.
    static func openImmutable(_ place: CatalogLocation, repositoryID: String) throws(BackupError) -> OpenCatalog {
        let path = place.file
        guard FileSystem.isReadOnly(place.folder), FileSystem.statusIfPresent(path)?.kind == .regular,
            (FileSystem.statusIfPresent(path + "-wal")?.size ?? 0) == 0
        else { throw BackupError(.readOnly, "the catalog cannot be used: it cannot be written", path: path) }
        let writer = try DatabaseConnection(path, .immutable, .catalog)
        let found = try generation(writer, repositoryID: repositoryID)
        let pool = ConnectionPool(writer: writer, readerLimit: readerLimit) { () throws(BackupError) in
            try DatabaseConnection(path, .immutable, .catalog)
        }
        return OpenCatalog(connections: pool, way: .immutable(place), generation: found)
    }

    /// A catalog in memory, for a repository whose folder cannot be written.
    static func openInMemory(repositoryID: String) throws(BackupError) -> OpenCatalog {
        let connection = try DatabaseConnection(":memory:", .create, .catalog)
        _ = try prepare(connection, repositoryID: repositoryID)
        return OpenCatalog(
            connections: ConnectionPool(writer: connection, readerLimit: 0, openReader: nil), way: .memory, generation: nil)
    }

    /// - Returns: the catalog's generation.
    private static func prepare(_ writer: DatabaseConnection, repositoryID: String) throws(BackupError) -> Int64 {
        try writer.transaction(.immediate) { () throws(BackupError) in
            guard try writer.integer("PRAGMA user_version") == 0, try writer.integer("PRAGMA application_id") == 0,
                try writer.integer("SELECT count(*) FROM sqlite_master") == 0
            else { return try Self.generation(writer, repositoryID: repositoryID) }
            let generation = Int64.random(in: .min ... .max)
            try writer.execute(schema)
            try writer.run("INSERT INTO repository VALUES (?, \(generation))", repositoryID)
            try writer.execute("PRAGMA user_version = \(schemaVersion); PRAGMA application_id = \(applicationID)")
            return generation
        }
    }

    /// Gives the catalog the version that its rows need.
    /// - Parameter database: in the transaction that inserts the rows.
    static func noteMiddles(_ database: DatabaseConnection) throws(BackupError) {
        guard try database.integer("PRAGMA user_version") != versionWithMiddles else { return }
        try database.execute("PRAGMA user_version = \(versionWithMiddles)")
    }

    /// The generation of a catalog file.
    /// - Throws: `repositoryDamaged` when it is not a catalog of this version and repository.
    private static func generation(_ connection: DatabaseConnection, repositoryID: String) throws(BackupError) -> Int64 {
        let version = try connection.integer("PRAGMA user_version")
        if version == schemaVersion || version == versionWithMiddles,
            try connection.integer("PRAGMA application_id") == applicationID
        {
            let row = try connection.statement("SELECT id, generation FROM repository")
            if try row.step(), row.type(0) == .text, row.text(0) == repositoryID,
                let found = try row.checkedIntegerIfPresent(1)
            {
                return found
            }
        }
        throw BackupError(.repositoryDamaged, "the catalog is of another version or repository")
    }
}

extension DatabaseErrors {
    /// `repositoryDamaged` for a damaged file, `noSpace`, `busy`, `readOnly`, else `inputOutput`. Readers go on serving while an
    /// operation is cancelled.
    static let catalog = DatabaseErrors(isCancellable: false) { failure in
        BackupError(
            failure.code(damaged: .repositoryDamaged), "the catalog cannot be used: \(Message.verbatim(failure.reason))",
            path: failure.path)
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

    let connections: ConnectionPool
    let way: Way
    /// The generation of this catalog; `nil` for one in memory.
    let generation: Int64?

    /// For messages.
    var path: String { way.place?.file ?? ":memory:" }

    /// Whether the file was moved or removed. New connections would then open another file than the existing ones.
    func hasMoved() throws(BackupError) -> Bool {
        guard case .file = way else { return false }
        return try connections.withWriter { (connection) throws(BackupError) in try connection.hasMoved() }
    }
}

/// Empties the catalog's file in place, whatever is in it. After removing it instead, other processes would keep using an
/// unlinked file, some of their connections that file and others the next one.
enum CatalogReset {
    private static let busyTimeoutSeconds = 1.0

    /// - Throws: `busy` when the file's first page is damaged while others use it; the errors of `DatabaseErrors.catalog`. The
    ///   file is unchanged then.
    static func run(path: String) throws(BackupError) {
        let connection = try DatabaseConnection(path, .create, .catalog, busyTimeoutSeconds: busyTimeoutSeconds)
        defer { connection.close() }
        try connection.empty()
    }
}
