import AppData
import BackupCore
import Export
import SystemIO

/// The statistics of the records that a status shows: bounded, however many records and months there are.
public struct StatusStatistics: Sendable {
    static let monthLimit = 24
    static let kindLimit = 10

    /// A word and how often it occurs.
    public struct Count: Sendable, Equatable {
        public let name: String
        public let count: Int
    }

    /// One collection.
    public struct Collection: Sendable {
        public let name: String
        /// For people.
        public let plural: String
        public let count: Int
        public let earliest: Timestamp?
        public let latest: Timestamp?
        /// The latest months up to the limit, in order: `2026-01`.
        public let months: [Count]
        /// The fields that hold categories, with the most frequent values of each.
        public let kinds: [(field: String, counts: [Count])]
        /// How many records have each boolean set to true.
        public let trueCounts: [Count]
    }

    public let databaseBytes: UInt64?
    public let collections: [Collection]

    init(_ statistics: [CollectionStatistics], databaseBytes: UInt64?) {
        self.databaseBytes = databaseBytes
        collections = statistics.map { collection in
            Collection(
                name: collection.name, plural: collection.plural, count: collection.count, earliest: collection.earliest,
                latest: collection.latest,
                months: collection.months.sorted { $0.key < $1.key }.suffix(Self.monthLimit).map {
                    Count(name: $0.key, count: $0.value)
                },
                kinds: collection.fieldNames.compactMap { field in
                    // A value shared by all records, or different in each, carries no information.
                    guard let kinds = collection.kinds[field], kinds.count > 1, kinds.count < collection.count else { return nil }
                    let sorted = kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.kindLimit)
                    return (field, sorted.map { Count(name: $0.key, count: $0.value) })
                },
                trueCounts: collection.fieldNames.compactMap { field in
                    collection.trueCounts[field].map { Count(name: field, count: $0) }
                })
        }
    }

    var json: OrderedJSON {
        .members([
            "databaseBytes": databaseBytes.map { .integer($0) } ?? .null,
            "collections": .object(collections.map { .init($0.name, Self.describe($0)) }),
        ])
    }

    private static func describe(_ collection: Collection) -> OrderedJSON {
        .members([
            "count": .integer(collection.count), "earliest": .optional(collection.earliest.map { ISO8601.format($0) }),
            "latest": .optional(collection.latest.map { ISO8601.format($0) }), "months": object(collection.months),
            "kinds": .object(collection.kinds.map { .init($0.field, object($0.counts)) }), "true": object(collection.trueCounts),
        ])
    }

    private static func object(_ counts: [Count]) -> OrderedJSON { .object(counts.map { .init($0.name, .integer($0.count)) }) }
}
