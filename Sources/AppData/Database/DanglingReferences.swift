import BackupCore

/// Rows of a database that refer to rows which are not there, by table and table referred to. SQLite checks that for apps that ask for it only.
struct DanglingReferences {
    private struct Reference: Hashable {
        let table: String
        let parent: String
    }

    private var counts: [Reference: Int] = [:]

    var isEmpty: Bool { counts.isEmpty }

    /// None.
    init() {}

    init(in connection: OpaquePointer?, path: String) throws(BackupError) {
        let statement = try DatabaseStatement(connection, "PRAGMA foreign_key_check", path: path)
        while try statement.step() {
            counts[Reference(table: statement.text(0), parent: statement.text(2)), default: 0] += 1
        }
    }

    /// A table that has more of them than either of the others.
    func firstTable(beyond one: DanglingReferences, _ other: DanglingReferences?) -> String? {
        counts.filter { $0.value > max(one.counts[$0.key] ?? 0, other?.counts[$0.key] ?? 0) }.map(\.key.table).min()
    }

    var warning: Message? {
        guard let table = counts.keys.map(\.table).min() else { return nil }
        let count = counts.values.reduce(0, +)
        return .plural(
            count,
            one: "\(count) record refers to one that is not there, as before: in the table \(MessageText.shortened(table))",
            other: "\(count) records refer to ones that are not there, as before: in the table \(MessageText.shortened(table))")
    }
}
