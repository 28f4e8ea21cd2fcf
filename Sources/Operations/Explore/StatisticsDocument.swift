import BackupCore
import BackupRepository
import Export
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
        json = .members([
            "snapshots": .array(statistics.snapshots.map(Self.describe)),
            "total": .members([
                "snapshotCount": .integer(statistics.snapshots.count), "logicalBytes": .integer(statistics.logicalBytes),
                "uniqueBytes": .integer(total.uniqueBytes), "storedBytes": .integer(statistics.storedBytes),
                "structureBytes": .integer(statistics.structures.storedBytes),
                "chunkCount": .integer(total.chunkCount + statistics.structures.chunkCount),
                "deduplicationRatio": Self.ratio(statistics.logicalBytes, total.uniqueBytes),
                "compressionRatio": Self.ratio(total.uniqueBytes, total.storedBytes),
                "ratio": Self.ratio(statistics.logicalBytes, statistics.storedBytes),
            ]),
            "storedAs": .members([
                "raw": Self.describe(statistics.byCodec[.raw]), "deflate": Self.describe(statistics.byCodec[.deflate]),
                "difference": Self.describe(statistics.byCodec[.deflateAgainstBase]),
            ]),
            "repository": .members([
                "packCount": .integer(totals.packCount), "packBytes": .integer(totals.packByteCount),
                "chunkCount": .integer(totals.chunkCount),
            ]),
        ])
    }

    private static func describe(_ item: RepositoryStatistics.OfSnapshot) -> OrderedJSON {
        .members([
            "name": .text(item.snapshot.name.description), "id": .text(item.snapshot.id.hexadecimal),
            "kind": .text(item.snapshot.kind == .safety ? "safety" : "snapshot"),
            "createdAt": .text(ISO8601.format(item.snapshot.creationTime.wholeSeconds)),
            "files": .integer(item.snapshot.record.root.totals.fileCount), "logicalBytes": .integer(item.logicalBytes),
            "uniqueBytes": .integer(item.added.uniqueBytes), "storedBytes": .integer(item.addedStoredBytes),
            "exclusiveBytes": .integer(item.exclusive.storedBytes),
        ])
    }

    private static func describe(_ amount: RepositoryStatistics.Amount?) -> OrderedJSON {
        .members([
            "chunkCount": .integer(amount?.chunkCount ?? 0), "uniqueBytes": .integer(amount?.uniqueBytes ?? 0),
            "storedBytes": .integer(amount?.storedBytes ?? 0),
        ])
    }

    private static func ratio(_ whole: UInt64, _ part: UInt64) -> OrderedJSON {
        ratioText(whole, part).map { .written(Array($0.utf8)) } ?? .null
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
