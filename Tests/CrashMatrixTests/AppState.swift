import BackupCore
import CSQLite
import Glibc
import SystemIO
import TestSupport

/// Everything of an app's data that a restore may change, as text: tables and rows; names, kinds, modes, times, targets and bytes
/// of the media. Not the times of folders, which change when something in them does.
enum AppState {
    static func describe(database: String, media: String?) throws -> String {
        var lines = try databaseLines(database)
        if let media { try addFiles(of: media, below: "", to: &lines) }
        return lines.joined(separator: "\n")
    }

    private static func addFiles(of root: String, below folder: String, to lines: inout [String]) throws {
        for name in try DirectoryHandle(path: root + folder).names() {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(root + path, &status) == 0 else { throw Machine.Unusable("could not look at \(root + path)") }
            let mode = String(status.st_mode & 0o7777, radix: 8)
            let time = "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                lines.append("folder \(path) \(mode)")
                try addFiles(of: root, below: path, to: &lines)
            case S_IFLNK: lines.append("link \(path) \(Machine.linkTarget(root + path) ?? "")")
            default:
                lines.append("file \(path) \(mode) \(time) \(try readFile(root + path).withUnsafeBytes { Base64.encode($0) })")
            }
        }
    }

    // MARK: The database

    private static func databaseLines(_ path: String) throws -> [String] {
        var connection: OpaquePointer?
        defer { sqlite3_close_v2(connection) }
        guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, nil) == SQLITE_OK else {
            throw Machine.Unusable("could not open \(path)")
        }
        sqlite3_busy_timeout(connection, 5_000)
        var lines = try column(connection, "PRAGMA integrity_check")
        lines += try column(connection, "SELECT ifnull(sql, name) FROM sqlite_master ORDER BY type, name")
        for table in try column(connection, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
            let fields = try column(connection, "SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('\(table)')")
            let row = fields.joined(separator: " || '|' || ")
            lines += try column(connection, "SELECT \(row) FROM \"\(table)\" ORDER BY 1").map { "\(table): \($0)" }
        }
        return lines
    }

    /// The first column of all rows.
    private static func column(_ connection: OpaquePointer?, _ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
            throw Machine.Unusable("\(sql): \(String(cString: sqlite3_errmsg(connection)))")
        }
        var values: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            values.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
        }
        return values
    }
}
