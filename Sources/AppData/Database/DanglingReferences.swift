import BackupCore

/// Rows of a database that refer to missing rows, counted by table and referenced table. SQLite checks that only for apps that ask for it.
struct DanglingReferences {
    private struct Reference: Hashable {
        let table: String
        let parent: String
    }

    private var counts: [Reference: Int] = [:]

    var isEmpty: Bool { counts.isEmpty }

    /// No dangling references.
    init() {}

    init(in connection: OpaquePointer?, path: String) throws(BackupError) {
        try Self.forEach(in: DatabaseTables(connection: connection, path: path)) { row in
            counts[Reference(table: row.text(0), parent: row.text(2)), default: 0] += 1
        }
    }

    /// The total number.
    var count: Int { counts.values.reduce(0, +) }

    /// Passes each one as a row of `PRAGMA foreign_key_check`. SQLite cannot check a table that refers to columns without a unique index, which it accepts as
    /// long as no check is requested: skips such a table.
    static func forEach(
        in tables: DatabaseTables, _ body: (DatabaseStatement) throws(BackupError) -> Void
    ) throws(BackupError) {
        for table in try tables.names() {
            let rows: DatabaseStatement
            do throws(BackupError) {
                rows = try DatabaseStatement(
                    tables.connection, "PRAGMA main.foreign_key_check(\(quotedIdentifier(table)))", path: tables.path)
                guard try rows.step() else { continue }
            } catch {
                guard error.code == .invalidContent else { throw error }
                continue
            }
            repeat { try body(rows) } while try rows.step()
        }
    }

    /// A table that has more of them than both of the others.
    func firstTable(beyond one: DanglingReferences, _ other: DanglingReferences?) -> String? {
        counts.filter { $0.value > max(one.counts[$0.key] ?? 0, other?.counts[$0.key] ?? 0) }.map(\.key.table).min()
    }

    var warning: Message? {
        guard let table = counts.keys.map(\.table).min() else { return nil }
        let count = count
        return .plural(
            count,
            one: "\(count) record refers to one that is not there, as before: in the table \(MessageText.shortened(table))",
            other: "\(count) records refer to ones that are not there, as before: in the table \(MessageText.shortened(table))")
    }
}
