import AppData
import BackupCore
import Formats
import Synchronization
import SystemIO

/// The records' counts and statistics for a status. They require reading the app's database, which the app may keep locked, which
/// may be large, and whose disk may not respond; a look at the mountpoint must not block on any of that. So a separate thread
/// reads, and a caller waits only briefly, then gets the last known facts.
final class StatusRecords: Sendable {
    struct Facts: Sendable {
        /// `nil` when the database cannot be read; `problem` is then the reason.
        var counts: [RecordCount]?
        /// `nil` also for a database that is too large to be read for this.
        var statistics: StatusStatistics?
        var problem: BackupError?
        /// Whether the app's own setting for automatic backups is off, as far as known.
        var isScheduleSwitchedOff = false
    }

    /// How long a caller waits, in nanoseconds.
    struct Patience: Sendable {
        let nanoseconds: UInt64
        /// The wait if nothing is known yet.
        let firstNanoseconds: UInt64

        /// For a user at a terminal, or a monitor.
        static let command = Patience(nanoseconds: 5_000_000_000, firstNanoseconds: 5_000_000_000)
        /// For `ls` of the mountpoint, which asks each time.
        static let mount = Patience(nanoseconds: 35_000_000, firstNanoseconds: 500_000_000)
    }

    /// A commit in rollback mode holds the lock for a few milliseconds. If it takes longer, the app holds it on purpose.
    static let busyTimeoutSeconds = 0.02

    /// The app's database, for callers that cannot wait until it is unlocked.
    let database: AppDatabase
    private let reading: ParsedRecord
    private let question: StorageQuery<Facts>

    init(_ database: AppDatabase, _ scheduleSwitch: ScheduleSwitch) {
        self.database = AppDatabase(
            at: database.path, definition: database.definition, busyTimeoutSeconds: Self.busyTimeoutSeconds, media: database.media
        )
        let reading = ParsedRecord(self.database, scheduleSwitch)
        self.reading = reading
        question = StorageQuery { reading.read() }
    }

    func facts(_ patience: Patience) -> Facts {
        if let remembered = reading.remembered { return remembered }
        let limit = reading.last == nil ? patience.firstNanoseconds : patience.nanoseconds
        if let answer = question.answer(forNanoseconds: limit) { return answer }
        var facts = remembered
        if question.hasStalled(forNanoseconds: Self.stallNanoseconds), facts.problem == nil {
            facts.problem = Self.noAnswer(database.path)
        }
        return facts
    }

    /// Even a locked or large database has been read by then.
    private static let stallNanoseconds: UInt64 = 2_000_000_000

    /// The last known facts.
    var remembered: Facts { reading.last ?? Facts(problem: Self.isSlow(database.path)) }

    /// Whether the records were read, or it is known why they cannot be.
    var isKnown: Bool { reading.last != nil }

    private static func noAnswer(_ path: String) -> BackupError {
        BackupError(
            .busy, "the database does not answer; the counts of records are those of the last look", path: path,
            remedy: "Check whether its disk or its server can be reached.")
    }

    private static func isSlow(_ path: String) -> BackupError {
        BackupError(.busy, "the database has not answered yet", path: path, remedy: "Ask again.")
    }
}

/// Reads the facts for a status, and caches them for a while if that took long.
private final class ParsedRecord: Sendable {
    private struct Known {
        var facts: StatusRecords.Facts?
        /// Until when they are returned without reading again.
        var endNanoseconds: UInt64 = 0
    }

    /// A read that failed or took long is not repeated more often than this.
    private static let rememberedNanoseconds: UInt64 = 2_000_000_000
    private static let longNanoseconds: UInt64 = 30_000_000
    /// Larger databases are not read for statistics: a status must be available immediately.
    private static let databaseLimitBytes: UInt64 = 4 << 20

    private let database: AppDatabase
    private let scheduleSwitch: ScheduleSwitch
    /// Larger databases are not read for a status, which must be available immediately.
    private static let statisticsLimitBytes: UInt64 = 4 << 20

    private let countCache = RecordsCache { (database) throws(BackupError) in try database.counts() }
    private let statisticsCache = RecordsCache { (database) throws(BackupError) in try database.collectionStatistics() }
    private let known = Mutex(Known())

    init(_ database: AppDatabase, _ scheduleSwitch: ScheduleSwitch) {
        self.database = database
        self.scheduleSwitch = scheduleSwitch
    }

    /// The result of the last read.
    var last: StatusRecords.Facts? { known.withLock { $0.facts } }

    /// The same, while no new read is needed.
    var remembered: StatusRecords.Facts? {
        let now = SystemClock.monotonicNanoseconds()
        return known.withLock { now < $0.endNanoseconds ? $0.facts : nil }
    }

    func read() -> StatusRecords.Facts {
        let start = SystemClock.monotonicNanoseconds()
        let facts = readNow()
        let end = SystemClock.monotonicNanoseconds()
        let isRemembered = facts.problem != nil || end - start > Self.longNanoseconds
        known.withLock { $0 = Known(facts: facts, endNanoseconds: isRemembered ? end + Self.rememberedNanoseconds : 0) }
        return facts
    }

    private func readNow() -> StatusRecords.Facts {
        var facts = StatusRecords.Facts()
        do throws(BackupError) {
            facts.counts = try countCache.value(of: database)
            let size = FileSystem.statusIfPresent(database.path)?.size
            if size ?? 0 <= Self.statisticsLimitBytes {
                facts.statistics = StatusStatistics(try statisticsCache.value(of: database), databaseBytes: size)
            }
        } catch {
            facts = StatusRecords.Facts(problem: error)
        }
        facts.isScheduleSwitchedOff = scheduleSwitch.isOff(in: database)
        return facts
    }
}

/// Caches what was computed from the newest state of the records: SQLite walks a whole table to count it, statistics read all
/// records, and `ls -l` of the mountpoint asks each time.
final class RecordsCache<Value: Sendable>: Sendable {
    private struct Known {
        let state: DatabaseChangeState
        /// The state of the media folder, if files are records.
        let mediaState: String?
        let value: Value
    }

    private let compute: @Sendable (AppDatabase) throws(BackupError) -> Value
    private let known = Mutex<Known?>(nil)

    init(_ compute: @escaping @Sendable (AppDatabase) throws(BackupError) -> Value) { self.compute = compute }

    func value(of database: AppDatabase) throws(BackupError) -> Value {
        let state = database.changeState()
        let countsFiles = database.definition.collections.contains { $0.source == .files }
        let mediaState = countsFiles ? try database.media?.state() : nil
        if let known = known.withLock({ $0 }), known.state == state, known.mediaState == mediaState { return known.value }
        let value = try compute(database)
        known.withLock { $0 = Known(state: state, mediaState: mediaState, value: value) }
        return value
    }
}

/// The number of records in a collection.
public struct RecordCount: Sendable, Equatable {
    /// The collection's name on the wire.
    public let name: String
    /// For display: "cars".
    public let plural: String
    /// Number of records.
    public let count: Int
}

extension AppDatabase {
    /// The number of records of each collection, in the definition's order, as of one instant.
    public func counts() throws(BackupError) -> [RecordCount] {
        try readSnapshot { (snapshot) throws(BackupError) in try snapshot.counts() }
    }
}

extension DatabaseSnapshot {
    /// - Parameter known: collections that need not be counted.
    func counts(known: [String: Int] = [:]) throws(BackupError) -> [RecordCount] {
        var counts: [RecordCount] = []
        // A manifest lists files, and counts nothing that the others do not.
        for (index, collection) in definition.collections.enumerated() where collection.source != .manifest {
            let count = if let count = known[collection.name] { count } else { try count(of: index) }
            counts.append(RecordCount(name: collection.name, plural: collection.plural, count: count))
        }
        return counts
    }
}

/// The statistics of the records that a status shows: bounded, however many records and months there are.
public struct StatusStatistics: JSONConvertible, Sendable {
    static let monthLimit = 24
    static let kindLimit = 10

    /// A word and how often it occurs.
    public typealias Count = (name: String, count: Int)

    /// One collection.
    public struct Collection: Sendable {
        /// What the following are taken from.
        public let all: CollectionStatistics
        /// The latest months up to the limit, in order: `2026-01`.
        public let months: [Count]
        /// The fields that hold categories, with the most frequent values of each.
        public let kinds: [(field: String, counts: [Count])]
        /// How many records have each boolean set to true.
        public let trueCounts: [Count]
    }

    /// Size of the database file; `nil` when there is none.
    public let databaseBytes: UInt64?
    /// In the definition's order.
    public let collections: [Collection]

    init(_ statistics: [CollectionStatistics], databaseBytes: UInt64?) {
        self.databaseBytes = databaseBytes
        collections = statistics.map { collection in
            Collection(
                all: collection,
                months: collection.months.sorted { $0.key < $1.key }.suffix(Self.monthLimit).map { ($0.key, $0.value) },
                kinds: collection.fieldNames.compactMap { field in
                    // A value shared by all records, or different in each, carries no information.
                    guard let kinds = collection.kinds[field], kinds.count > 1, kinds.count < collection.count else { return nil }
                    let sorted = kinds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.kindLimit)
                    return (field, sorted.map { ($0.key, $0.value) })
                },
                trueCounts: collection.fieldNames.compactMap { field in collection.trueCounts[field].map { (field, $0) } })
        }
    }

    public var json: OrderedJSON {
        [
            "databaseBytes": databaseBytes,
            "collections": OrderedJSON.object(collections.map { .init($0.all.name, Self.describe($0)) }),
        ]
    }

    private static func describe(_ collection: Collection) -> OrderedJSON {
        [
            "count": collection.all.count, "earliest": collection.all.earliest.map { ISO8601.format($0) },
            "latest": collection.all.latest.map { ISO8601.format($0) }, "months": object(collection.months),
            "kinds": OrderedJSON.object(collection.kinds.map { .init($0.field, object($0.counts)) }),
            "true": object(collection.trueCounts),
        ]
    }

    private static func object(_ counts: [Count]) -> OrderedJSON { .object(counts.map { .init($0.name, $0.count) }) }
}

extension AppDatabase {
    /// Statistics of all records, as of one instant.
    func collectionStatistics() throws(BackupError) -> [CollectionStatistics] {
        try readSnapshot { (snapshot) throws(BackupError) in
            let statistics = RecordStatistics(snapshot.definition)
            for (index, collection) in snapshot.definition.collections.enumerated() where collection.source != .manifest {
                try snapshot.forEachRecord(of: index) { (record) in statistics.visit(record: record, of: index) }
            }
            return statistics.collections
        }
    }
}
