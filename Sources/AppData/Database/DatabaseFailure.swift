import BackupCore
import GRDB
import GRDBSQLite
import SystemIO

/// Maps SQLite result codes to our errors.
enum DatabaseFailure {
    static func error(code: Int32, reason: String, path: String) -> BackupError {
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
                remedy: "Check that the file is there, and that the file and its folder may be read and written.")
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
