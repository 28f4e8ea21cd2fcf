import AppData
import BackupCore
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

    private struct State {
        var askedCount = 0
        var answeredCount = 0
        var isReading = false
        var facts: Facts?
        /// Until when they are given without another look.
        var endNanoseconds: UInt64 = 0
    }

    /// A commit in rollback mode holds the lock for a few milliseconds. Longer, and the app keeps it.
    static let busyTimeoutSeconds = 0.02
    /// What failed, or took long, is not tried more often than this.
    private static let rememberedNanoseconds: UInt64 = 2_000_000_000
    private static let longNanoseconds: UInt64 = 30_000_000

    /// The app's, for those who cannot wait until it is unlocked.
    let database: AppDatabase
    private let countCache = RecordCountCache()
    private let statisticsCache = StatisticsCache()
    private let state = Monitor(State())

    private let scheduleSwitch: ScheduleSwitch

    init(_ database: AppDatabase, _ scheduleSwitch: ScheduleSwitch) {
        self.scheduleSwitch = scheduleSwitch
        self.database = AppDatabase(
            at: database.path, definition: database.definition, busyTimeoutSeconds: Self.busyTimeoutSeconds, media: database.media
        )
    }

    func facts(_ patience: Patience) -> Facts {
        let now = SystemClock.monotonicNanoseconds()
        let (known, number, mustStart) = state.withLock { state -> (Facts?, Int, Bool) in
            if let facts = state.facts, now < state.endNanoseconds { return (facts, 0, false) }
            state.askedCount += 1
            defer { state.isReading = true }
            return (nil, state.askedCount, !state.isReading)
        }
        if let known { return known }
        if mustStart { start() }
        let hasNone = state.withLock { $0.facts == nil }
        let isAnswered = state.wait(
            until: { $0.answeredCount >= number },
            forNanoseconds: hasNone ? patience.firstNanoseconds : patience.nanoseconds)
        return state.withLock { state in
            let facts = state.facts ?? Facts(problem: Self.isSlow(database.path))
            // The next to ask does not wait again; the reading itself tells what it finds as soon as it has.
            if !isAnswered, state.isReading {
                state.facts = facts
                state.endNanoseconds = SystemClock.monotonicNanoseconds() + Self.rememberedNanoseconds
            }
            return facts
        }
    }

    private static func isSlow(_ path: String) -> BackupError {
        BackupError(.busy, "the database has not answered yet", path: path, remedy: "Ask again.")
    }

    private func start() {
        do throws(BackupError) {
            try SystemThread { [self] in readUntilAnswered() }.detach()
        } catch {
            readUntilAnswered()
        }
    }

    /// Who asks while it reads gets the answer of the next reading: what was committed before the question is in it.
    private func readUntilAnswered() {
        while true {
            let number = state.withLock { $0.askedCount }
            let start = SystemClock.monotonicNanoseconds()
            let facts = read()
            let end = SystemClock.monotonicNanoseconds()
            let isRemembered = facts.problem != nil || end - start > Self.longNanoseconds
            let isDone = state.changeWakingAll { state in
                state.facts = facts
                state.endNanoseconds = isRemembered ? end + Self.rememberedNanoseconds : 0
                state.answeredCount = isRemembered ? state.askedCount : number
                state.isReading = state.askedCount > state.answeredCount
                return !state.isReading
            }
            if isDone { return }
        }
    }

    private func read() -> Facts {
        var facts = Facts()
        do throws(BackupError) {
            facts.counts = try countCache.counts(of: database)
            facts.statistics = try statisticsCache.collections(of: database).map {
                StatusStatistics($0, databaseBytes: FileSystem.statusIfPresent(database.path)?.size)
            }
        } catch {
            facts = Facts(problem: error)
        }
        facts.isScheduleSwitchedOff = scheduleSwitch.isOff(in: database)
        return facts
    }
}
