import AppData
import BackupCore
import BackupRepository
import Export
import SystemIO

/// Statistics of an app's records: `backupfs stats --records`.
public struct RecordStatisticsDocument: Sendable {
    public let collections: [CollectionStatistics]
    private let databaseBytes: UInt64?

    /// - Parameter snapshotName: `nil` for the live data.
    /// - Throws: `notFound`, …; `notSupported` for a backup of a database that no definition describes.
    public init(of store: Store, snapshotName: String?) throws(BackupError) {
        guard let snapshotName else {
            databaseBytes = FileSystem.statusIfPresent(store.database.path)?.size
            collections = try Self.collections(of: store.database)
            return
        }
        let snapshot = try store.anySnapshot(named: snapshotName)
        guard !store.definition.coversWholeDatabase else {
            throw BackupError(
                .notSupported, "what the tables are is known of the live data only", path: snapshotName,
                remedy: "Leave out the backup's name.")
        }
        let root = try store.repository.rootDirectory(of: snapshot)
        guard let export = root.entry(named: "export.json") else {
            throw BackupError(.notFound, "the backup has no export", path: snapshotName)
        }
        databaseBytes = root.entry(named: "database.sqlite")?.size
        let version = snapshot.record.attributes["schema-version"].flatMap { Int($0) }
        let format = version.map { store.definition.format(ofVersion: $0) } ?? store.definition
        let statistics = RecordStatistics(format)
        let source = StoredSource(try store.repository.extents(of: export.content), in: store.repository)
        try WireReader(source, definition: format).visit(with: statistics)
        collections = statistics.collections
    }

    /// Statistics of a database's records, as of one instant.
    static func collections(of database: AppDatabase) throws(BackupError) -> [CollectionStatistics] {
        try database.readSnapshot { (snapshot) throws(BackupError) in
            let statistics = RecordStatistics(snapshot.definition)
            for (index, collection) in snapshot.definition.collections.enumerated() where collection.source != .manifest {
                try snapshot.forEachRecord(of: index) { (record) in statistics.visit(record: record, of: index) }
            }
            return statistics.collections
        }
    }

    public var json: OrderedJSON {
        .members([
            "databaseBytes": databaseBytes.map { .integer($0) } ?? .null,
            "collections": .object(collections.map { .init($0.name, Self.describe($0)) }),
        ])
    }

    private static func describe(_ collection: CollectionStatistics) -> OrderedJSON {
        func ordered<Value>(_ values: [String: Value], _ describe: (Value) -> OrderedJSON) -> OrderedJSON {
            .object(collection.fieldNames.compactMap { name in values[name].map { .init(name, describe($0)) } })
        }
        return .members([
            "count": .integer(collection.count), "earliest": .optional(collection.earliest.map { ISO8601.format($0) }),
            "latest": .optional(collection.latest.map { ISO8601.format($0) }),
            "months": .object(collection.months.sorted { $0.key < $1.key }.map { .init($0.key, .integer($0.value)) }),
            "true": ordered(collection.trueCounts) { .integer($0) },
            "kinds": ordered(collection.kinds) { kinds in
                .object(kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { .init($0.key, .integer($0.value)) })
            },
            "numbers": ordered(collection.numbers) { numbers in
                .members([
                    "minimum": .written(Array(numbers.minimum.description.utf8)),
                    "maximum": .written(Array(numbers.maximum.description.utf8)),
                    "mean": .written(Array((numbers.sum / Double(numbers.count)).description.utf8)),
                ])
            },
        ])
    }

    /// For people.
    public var text: Message {
        var lines: [Message] = []
        for collection in collections {
            lines.append("\(CollectionHeading.of(collection.plural)): \(collection.count)")
            if let earliest = collection.earliest, let latest = collection.latest {
                lines.append("  from \(ISO8601.format(earliest)) to \(ISO8601.format(latest))")
            }
            for name in collection.fieldNames {
                if let count = collection.trueCounts[name], collection.count > 0 {
                    lines.append("  \(name): \(count) (\(count * 100 / collection.count) %)")
                }
                if let kinds = collection.kinds[name], kinds.count > 1 {
                    let first = kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(10)
                    lines.append("  \(name): \(first.map { "\($0.key) \($0.value)" }.joined(separator: ", "))")
                }
            }
            for (month, count) in collection.months.sorted(by: { $0.key < $1.key }).suffix(12) {
                lines.append("  \(month): \(count)")
            }
        }
        return .joined(lines, separator: "\n")
    }
}
