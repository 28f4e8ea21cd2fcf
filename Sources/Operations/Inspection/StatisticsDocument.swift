import AppData
import BackupCore
import BackupRepository
import Formats
import SystemIO

/// How much space backups use: `backupfs stats`.
public struct StatisticsDocument: Sendable {
    public let json: OrderedJSON
    public let statistics: RepositoryStatistics
    public let totals: RepositoryTotals

    /// - Parameter names: the backups to count; if empty, all, including safety backups.
    /// - Throws: `notFound`; `repositoryDamaged` when a folder of a backup cannot be read.
    public init(of store: Store, names: [String] = []) throws(BackupError) {
        try store.repository.refresh()
        var chosen: [Snapshot] = []
        for name in names {
            let snapshot = try store.anySnapshot(named: name)
            if !chosen.contains(snapshot) { chosen.append(snapshot) }
        }
        let all = store.repository.snapshots()
        statistics = try store.repository.statistics(of: names.isEmpty ? all : all.filter { chosen.contains($0) })
        totals = try store.repository.totals()
        let total = statistics.total
        json = [
            "snapshots": statistics.snapshots.map(Self.describe),
            "total": [
                "snapshot_count": statistics.snapshots.count, "logical_bytes": statistics.logicalBytes,
                "unique_bytes": total.uniqueBytes, "stored_bytes": statistics.storedBytes,
                "structure_bytes": statistics.structures.storedBytes,
                "chunk_count": total.chunkCount + statistics.structures.chunkCount,
                "deduplication_ratio": Self.ratio(statistics.logicalBytes, total.uniqueBytes),
                "compression_ratio": Self.ratio(total.uniqueBytes, total.storedBytes),
                "ratio": Self.ratio(statistics.logicalBytes, statistics.storedBytes),
            ] as OrderedJSON,
            "stored_as": [
                "raw": Self.describe(statistics.byCodec[.raw]), "deflate": Self.describe(statistics.byCodec[.deflate]),
                "delta": Self.describe(statistics.deltas),
            ] as OrderedJSON,
            "repository": [
                "pack_count": totals.packCount, "pack_bytes": totals.packByteCount, "chunk_count": totals.chunkCount,
            ] as OrderedJSON,
        ]
    }

    private static func describe(_ item: RepositoryStatistics.OfSnapshot) -> OrderedJSON {
        [
            "name": item.snapshot.name, "id": item.snapshot.id, "kind": item.snapshot.kind == .safety ? "safety" : "snapshot",
            "created_at": item.snapshot.creationTime.wholeSeconds, "files": item.snapshot.record.root.totals.fileCount,
            "logical_bytes": item.logicalBytes, "unique_bytes": item.added.uniqueBytes, "stored_bytes": item.addedStoredBytes,
            "exclusive_bytes": item.exclusive.storedBytes,
        ]
    }

    private static func describe(_ amount: RepositoryStatistics.Amount?) -> OrderedJSON {
        [
            "chunk_count": amount?.chunkCount ?? 0, "unique_bytes": amount?.uniqueBytes ?? 0,
            "stored_bytes": amount?.storedBytes ?? 0,
        ]
    }

    private static func ratio(_ whole: UInt64, _ part: UInt64) -> OrderedJSON {
        ratioText(whole, part).map { .decimal($0) } ?? .null
    }

    /// The ratio of `whole` to `part` with two decimals: "5.31"; `nil` when `part` is 0.
    public static func ratioText(_ whole: UInt64, _ part: UInt64) -> String? {
        guard part > 0 else { return nil }
        let (quotient, rest) = whole.quotientAndRemainder(dividingBy: part)
        // The remainder times 100 may overflow; dividing first then loses far less than a hundredth.
        let hundredths = rest > UInt64.max / 100 ? rest / (part / 100) : rest * 100 / part
        return "\(quotient)." + (hundredths < 10 ? "0" : "") + String(min(hundredths, 99))
    }
}

/// Statistics of an app's records: `backupfs stats --records`.
public struct RecordStatisticsDocument: Sendable {
    /// In the definition's order.
    public let collections: [CollectionStatistics]
    private let databaseBytes: UInt64?

    /// - Parameter snapshotName: `nil` for the live data.
    /// - Throws: `notFound`, …; `notSupported` for a backup of a database that no definition describes.
    public init(of store: Store, snapshotName: String?) throws(BackupError) {
        guard let snapshotName else {
            databaseBytes = FileSystem.statusIfPresent(store.database.path)?.size
            collections = try store.database.collectionStatistics()
            return
        }
        let snapshot = try store.anySnapshot(named: snapshotName)
        guard !store.definition.coversWholeDatabase else {
            throw BackupError(
                .notSupported, "what the tables are is known of the live data only", path: snapshotName,
                remedy: "Leave out the backup's name.")
        }
        let root = try store.repository.rootDirectory(of: snapshot)
        let export = try SnapshotRecords(of: snapshot, in: store.repository, for: store).export()
        databaseBytes = root.entry(named: "database.sqlite")?.size
        let version = snapshot.schemaVersion
        let format = version.map { store.definition.format(ofVersion: $0) } ?? store.definition
        let statistics = RecordStatistics(format)
        let source = StoredSource(export, in: store.repository)
        try WireReader(source, definition: format).visit(with: statistics)
        collections = statistics.collections
    }

    public var json: OrderedJSON {
        [
            "database_bytes": databaseBytes,
            "collections": OrderedJSON.object(collections.map { .init($0.name, Self.describe($0)) }),
        ]
    }

    private static func describe(_ collection: CollectionStatistics) -> OrderedJSON {
        func ordered<Value>(_ values: [String: Value], _ describe: (Value) -> OrderedJSON) -> OrderedJSON {
            .object(collection.fieldNames.compactMap { name in values[name].map { .init(name, describe($0)) } })
        }
        return [
            "count": collection.count, "earliest": collection.earliest, "latest": collection.latest,
            "months": OrderedJSON.object(collection.months.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }),
            "true": ordered(collection.trueCounts) { $0.json },
            "kinds": ordered(collection.kinds) { kinds in
                .object(kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { .init($0.key, $0.value) })
            },
            "numbers": ordered(collection.numbers) { numbers in
                [
                    "minimum": OrderedJSON.decimal(numbers.minimum),
                    "maximum": OrderedJSON.decimal(numbers.maximum),
                    "mean": OrderedJSON.decimal(numbers.sum / Double(numbers.count)),
                ]
            },
        ]
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
