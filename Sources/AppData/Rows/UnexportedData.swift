import BackupCore
import SQLite

/// Data in the app's tables that an export does not contain. A restore empties these tables, and no export could restore the
/// data: backups contain it only in `database.sqlite`.
public struct UnexportedData: Sendable, Equatable {
    /// In a message.
    private static let shownPlaceLimit = 20

    /// A table, or a column of a table whose other columns are exported.
    struct Place: Sendable, Equatable {
        let table: String
        let column: String?
        /// Whether another of the app's wire formats names it.
        let isNamedElsewhere: Bool
        /// Whether a restore of a backup copies it together with the rows of the backup's database (`BackupRows`).
        var comesWithRows = false

        var name: String { column.map { "\(table).\($0)" } ?? table }
    }

    /// Sorted by table; never empty.
    let places: [Place]
    /// The version of the data's format.
    let version: Int

    /// The names of the places, for a message.
    private var list: String { MessageText.list(places.map(\.name), limit: Self.shownPlaceLimit) }

    /// Data that not even a restore of the backup itself brings back; `nil` if there is none.
    var withoutRows: UnexportedData? {
        let left = places.filter { !$0.comesWithRows }
        return left.isEmpty ? nil : UnexportedData(places: left, version: version)
    }

    /// The warning of a backup that contains it.
    public var warning: Message {
        withoutRows == nil
            ? "exports of this data do not have \(list), which hold data: a restore of the backup brings it back, and a restore of any other file would be refused"
            : "exports of this data do not have \(list), which hold data: only database.sqlite of the backup has it, and a restore would be refused"
    }

    /// The finding for such a backup; `nil` if a restore of it brings back everything.
    public var finding: Message? {
        withoutRows.map { "a restore would not bring back what is in \($0.list): the export does not have it" }
    }

    /// The warning of a restore from a database that contains it.
    public var restoreWarning: Message {
        "what the file has in \(list) is not restored: data of schema version \(version) does not have it"
    }

    /// The error of an exchange with other devices, whose records would lack it.
    func exchangeRefusal(path: String) -> BackupError {
        BackupError(
            .notSupported,
            "the records have data in \(list) that the app's definition does not name, so other devices would not get it",
            path: path, remedy: "Add the columns to the definition.")
    }

    /// The error of a restore that would empty the tables.
    func refusal(path: String) -> BackupError {
        if let place = places.first(where: { !$0.isNamedElsewhere }), let column = place.column {
            return BackupError(
                .notSupported,
                """
                Import failed: the table \(place.table) has the column \(column), which the app's definition does not name; \
                a restore would lose its values
                """,
                path: path,
                remedy: withoutRows == nil
                    ? "To bring back a backup, restore it by its name instead of by a file. For any other file, add the column to the definition."
                    : "Add the column to the definition. Backups hold it: database.sqlite is always whole.")
        }
        return BackupError(
            .notSupported,
            "Import failed: exports of schema version \(version), which the data has, do not have \(list); a restore would lose what is there",
            path: path,
            remedy:
                "Nothing was changed. Remove it in the app, and restore again. Backups hold it: database.sqlite is always whole.")
    }
}

extension DatabaseSchemaCheck {
    /// Data that a replacement would lose: it empties the tables of all formats, and the safety backup has only what the format
    /// of the data names.
    func unexportedData() throws(BackupError) -> UnexportedData? {
        guard !definition.coversWholeDatabase else { return nil }
        let present = try formatOfData()
        let collections = definition.formats.flatMap(\.collections).filter { $0.source == .table }
        let copiesRows = !definition.formats.flatMap(\.collections).contains { $0.rules.keepOnReplaceIndex != nil }
        var places: [UnexportedData.Place] = []
        for table in replacedTables().sorted() {
            // Several collections may share a table.
            let exported = present.collections.filter { $0.source == .table && SchemaName($0.table) == SchemaName(table) }
            let comesWithRows =
                copiesRows && !definition.keyTables.contains(SchemaName(table)) && schema.canNameColumns(of: table)
            guard !exported.isEmpty else {
                if try schema.hasRows(table) {
                    places.append(.init(table: table, column: nil, isNamedElsewhere: true, comesWithRows: comesWithRows))
                }
                continue
            }
            let named = Self.columns(of: collections.filter { SchemaName($0.table) == SchemaName(table) })
            let others = schema.columns(of: table, besides: Self.columns(of: exported))
            for column in try schema.columnsWithValues(among: others, of: table) {
                places.append(
                    .init(
                        table: table, column: column, isNamedElsewhere: named.contains(SchemaName(column)),
                        comesWithRows: comesWithRows))
            }
        }
        for object in [present.metadata] + (present.settings.map { [$0] } ?? []) { places += try ambiguousKeys(of: object) }
        return places.isEmpty ? nil : UnexportedData(places: places, version: present.schemaVersion)
    }

    private static func columns(of collections: [CollectionDefinition]) -> Set<SchemaName> {
        Set(collections.flatMap { $0.fields.flatMap { [$0.column] + $0.keyColumns } }.map(SchemaName.init))
    }

    /// Without the table that records it, the first format: other checks report what else is missing.
    private func formatOfData() throws(BackupError) -> AppDefinition {
        if let table = definition.metadata.table, !schema.contains(table) { return definition }
        return try definition.format(ofDatabase: connection)
    }

    /// Keys of an object with several rows of different values: an export has only one of them.
    private func ambiguousKeys(of object: ObjectDefinition) throws(BackupError) -> [UnexportedData.Place] {
        guard let table = object.table, schema.contains(table) else { return [] }
        let keys = Set(object.fields.lazy.filter { $0.source == .stored && $0.isRestored }.map(\.column))
        let statement = try connection.statement(
            """
            SELECT "key" FROM \(quotedIdentifier(table)) GROUP BY "key" COLLATE BINARY
            HAVING count(*) > 1 AND count(DISTINCT quote("value")) > 1 ORDER BY 1
            """)
        var places: [UnexportedData.Place] = []
        while try statement.step() {
            let key = statement.text(0)
            if keys.contains(key) { places.append(.init(table: table, column: key, isNamedElsewhere: true)) }
        }
        return places
    }
}
