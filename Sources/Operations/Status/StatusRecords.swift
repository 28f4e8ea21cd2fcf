import AppData
import BackupCore
import Synchronization
import SystemIO

/// What a status tells of the records: their counts and statistics. The app's database has to be read for that, which the app may keep locked, which
/// may be large, and whose disk may not answer; a look at the mountpoint must wait for none of that. So a thread of its own reads, and a
/// caller waits for a moment only: then it gets what was known before.
final class StatusRecords: Sendable {
    struct Facts: Sendable {
        /// `nil` when the database cannot be read: then `problem` tells why.
        var counts: [RecordCount]?
        /// `nil` also for a database that is too large to be gone through for that.
        var statistics: StatusStatistics?
        var problem: BackupError?
        /// Whether the app's own switch for automatic backups is off, as far as that is known.
        var isScheduleSwitchedOff = false
    }

    /// How long who asks waits, in nanoseconds.
    struct Patience: Sendable {
        let nanoseconds: UInt64
        /// Where nothing is known yet.
        let firstNanoseconds: UInt64

        /// For a person at a terminal, or a monitor.
        static let command = Patience(nanoseconds: 5_000_000_000, firstNanoseconds: 5_000_000_000)
        /// `ls` of the mountpoint asks each time.
        static let mount = Patience(nanoseconds: 35_000_000, firstNanoseconds: 500_000_000)
    }

    /// A commit in rollback mode holds the lock for a few milliseconds. Longer, and the app keeps it.
    static let busyTimeoutSeconds = 0.02

    /// The app's, for those who cannot wait until it is unlocked.
    let database: AppDatabase
    private let reading: RecordReading
    private let question: PatientQuestion<Facts>

    init(_ database: AppDatabase, _ scheduleSwitch: ScheduleSwitch) {
        self.database = AppDatabase(
            at: database.path, definition: database.definition, busyTimeoutSeconds: Self.busyTimeoutSeconds, media: database.media
        )
        let reading = RecordReading(self.database, scheduleSwitch)
        self.reading = reading
        question = PatientQuestion { reading.read() }
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

    /// A database that is locked, or large, has been read before that.
    private static let stallNanoseconds: UInt64 = 2_000_000_000

    /// What was known last.
    var remembered: Facts { reading.last ?? Facts(problem: Self.isSlow(database.path)) }

    /// Whether they have been read, or it is known why they cannot be.
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

/// Reads what a status tells of the records, and keeps it for a while where that took long.
private final class RecordReading: Sendable {
    private struct Known {
        var facts: StatusRecords.Facts?
        /// Until when they are given without another look.
        var endNanoseconds: UInt64 = 0
    }

    /// What failed, or took long, is not tried more often than this.
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

    /// What was read last.
    var last: StatusRecords.Facts? { known.withLock { $0.facts } }

    /// The same, while no other look is needed.
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
