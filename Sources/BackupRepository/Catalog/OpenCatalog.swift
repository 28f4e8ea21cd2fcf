import GRDB
import GRDBSQLite

/// The connections to a catalog, all to the same file.
struct OpenCatalog {
    /// How a catalog is used.
    enum Way: Equatable {
        /// Read and written in place.
        case file(CatalogPlace)
        /// Only read, on a read-only medium.
        case immutable(CatalogPlace)
        case memory

        var place: CatalogPlace? {
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
