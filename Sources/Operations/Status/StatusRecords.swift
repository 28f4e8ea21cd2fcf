import AppData
import BackupCore
import Synchronization
import SystemIO

/// The records' counts and statistics for a status. They require reading the app's database, which the app may keep locked, which may be large, and whose disk
/// may not respond; a look at the mountpoint must not block on any of that. So a separate thread reads, and a caller waits only briefly, then gets the last
/// known facts.
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
    private let reading: RecordReading
    private let question: StorageQuery<Facts>

    init(_ database: AppDatabase, _ scheduleSwitch: ScheduleSwitch) {
        self.database = AppDatabase(
            at: database.path, definition: database.definition, busyTimeoutSeconds: Self.busyTimeoutSeconds, media: database.media
        )
        let reading = RecordReading(self.database, scheduleSwitch)
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
private final class RecordReading: Sendable {
    private struct Known {
        var facts: StatusRecords.Facts?
        /// Until when they are returned without reading again.
        var endNanoseconds: UInt64 = 0
    }

    /// A read that failed or took long is not repeated more often than this.
    private static let rememberedNanoseconds: UInt64 = 2_000_000_000
    private static let longNanoseconds: UInt64 = 30_000_000

    private let database: AppDatabase
    private let scheduleSwitch: ScheduleSwitch
    private let countCache = RecordCountCache()
    private let statisticsCache = StatisticsCache()
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
            facts.counts = try countCache.counts(of: database)
            facts.statistics = try statisticsCache.collections(of: database).map {
                StatusStatistics($0, databaseBytes: FileSystem.statusIfPresent(database.path)?.size)
            }
        } catch {
            facts = StatusRecords.Facts(problem: error)
        }
        facts.isScheduleSwitchedOff = scheduleSwitch.isOff(in: database)
        return facts
    }
}
