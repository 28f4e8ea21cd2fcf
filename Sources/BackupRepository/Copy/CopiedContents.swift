import BackupCore
import SQLite
import Synchronization

/// What the parts of one repository are called in another one, so that what several snapshots share is read once. In a temporary
/// file that SQLite removes: memory does not grow with it.
///
/// It is only a help: an entry may name chunks that are not in the other repository any more.
final class CopiedContents: Sendable {
    private let database: Mutex<DatabaseConnection>

    init() throws(BackupError) {
        let connection = try DatabaseConnection("", .create, .copiedContents)
        // The file is never opened again.
        try connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        try connection.execute(
            """
            CREATE TABLE chunks (name BLOB PRIMARY KEY, copy BLOB NOT NULL) WITHOUT ROWID;
            CREATE TABLE contents (name BLOB PRIMARY KEY, copy BLOB NOT NULL) WITHOUT ROWID
            """)
        database = Mutex(connection)
    }

    /// The names that chunks have in the other repository; `nil` for those that are not known.
    func copies(of ids: [ChunkID]) throws(BackupError) -> [ChunkID?] {
        try database.withLock { (database) throws(BackupError) in
            try ids.map { (id) throws(BackupError) in
                try Self.find(id.digest, in: "chunks", database) { bytes in
                    bytes.count == 32 ? ChunkID(SHA256Digest(exactBytes: bytes)) : nil
                }
            }
        }
    }

    func note(_ copies: [(id: ChunkID, copy: ChunkID)]) throws(BackupError) {
        guard !copies.isEmpty else { return }
        try database.withLock { (database) throws(BackupError) in
            try database.transaction(.immediate) { () throws(BackupError) in
                for (id, copy) in copies { try Self.insert(id.digest, copy.digest.bytes, into: "chunks", database) }
            }
        }
    }

    /// A file's content in the other repository; `nil` if it is not known.
    func copy(of content: FileContent) throws(BackupError) -> FileContent? {
        let bytes = try database.withLock { (database) throws(BackupError) in
            try Self.find(content.fingerprint, in: "contents", database) { Array($0) }
        }
        guard let bytes else { return nil }
        var reader = ByteReader(bytes)
        return try FileContent(decoding: &reader)
    }

    func note(_ copy: FileContent, of content: FileContent) throws(BackupError) {
        var writer = ByteWriter()
        copy.encode(into: &writer)
        let bytes = writer.bytes
        try database.withLock { (database) throws(BackupError) in
            try Self.insert(content.fingerprint, bytes, into: "contents", database)
        }
    }

    private static func find<Result>(
        _ name: SHA256Digest, in table: String, _ database: DatabaseConnection, _ body: (UnsafeRawBufferPointer) -> Result?
    ) throws(BackupError) -> Result? {
        let query = try database.keptStatement("SELECT copy FROM \(table) WHERE name = ?")
        defer { query.reset() }
        try name.bytes.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try query.bind(1, copying: bytes) }
        return try query.step() ? body(query.bytes(0, isText: false)) : nil
    }

    private static func insert(
        _ name: SHA256Digest, _ copy: [UInt8], into table: String, _ database: DatabaseConnection
    ) throws(BackupError) {
        let change = try database.keptStatement("INSERT OR REPLACE INTO \(table) VALUES (?, ?)")
        try name.bytes.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try change.bind(1, copying: bytes) }
        try copy.withUnsafeBytesThrowing { (bytes) throws(BackupError) in try change.bind(2, copying: bytes) }
        try change.run()
    }
}

extension DatabaseErrors {
    fileprivate static let copiedContents = DatabaseErrors(isCancellable: false) { failure in
        BackupError(
            failure.code(damaged: .inputOutput),
            "the temporary file of the copy cannot be used: \(Message.verbatim(failure.reason))",
            remedy: "Make space in the folder for temporary files, or name another one with TMPDIR.")
    }
}
