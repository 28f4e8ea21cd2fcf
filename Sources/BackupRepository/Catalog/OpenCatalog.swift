import GRDB
import GRDBSQLite

/// The connections to a catalog, all of them to the same one.
struct OpenCatalog {
    /// How a catalog is used.
    enum Way: Equatable {
        /// Read and written where it lies.
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
    /// Which making of the catalog this is; `nil` for one in memory.
    let generation: Int64?

    /// For messages.
    var path: String { way.place?.file ?? ":memory:" }

    /// Whether the file is no longer in its place. Connections that are made from now on would be to another file than those that are there.
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
