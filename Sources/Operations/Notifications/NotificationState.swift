import AppData
import BackupCore
import SystemIO

/// State about automatic backups, so that a user is notified once and not for each attempt: `notice.state` of a store, text lines
/// of the form `key: value`. It is separate from `schedule.state`, which a new schedule resets, because it also changes while
/// another operation runs.
struct NotificationState: Sendable, Equatable {
    /// The outcome of an attempt.
    enum Event: Sendable, Equatable {
        case made
        case unchanged
        case failed
        /// Another operation is running: not a failure, but it may last for days.
        case waiting
    }

    /// A lasting notice is repeated after this time.
    private static let repeatSeconds: Int64 = 86_400
    private static let daySeconds: Int64 = 86_400
    /// The file has a fixed size, so that it can be overwritten in place on a full disk.
    private static let sizeBytes = 256

    /// The start of the time without success: the last success, or the first attempt.
    var base: RecordedTime
    /// Whether `base` is the time of a success.
    var hasSucceeded = false
    /// Consecutive failures.
    var failureCount = 0
    /// When the user was last notified of failures; `nil` while there are none.
    var alerted: RecordedTime?

    init(begunAt now: Timestamp) { base = RecordedTime(now) }

    /// Records the outcome of an attempt.
    /// - Returns: the notice to send now.
    mutating func note(
        _ event: Event, at now: Timestamp, schedule: Schedule, _ settings: NotificationSettings
    ) -> AutomaticNotification? {
        base.look(at: now)
        alerted?.look(at: now)
        switch event {
        case .made, .unchanged:
            base = RecordedTime(now)
            hasSucceeded = true
            failureCount = 0
            defer { alerted = nil }
            return alerted != nil ? .recovered : event == .made ? .made : .unchanged
        case .failed: failureCount = min(failureCount.addingSaturating(1), Int(Int32.max))
        case .waiting: break
        }
        let isOverdue = isOverdue(at: now, schedule, days: settings.overdueDays)
        guard isOverdue || failureCount >= settings.failureLimit else { return nil }
        if let alerted, alerted.secondsPassed(at: now) < Self.repeatSeconds { return nil }
        alerted = RecordedTime(now)
        return isOverdue ? .overdue : .failing
    }

    /// Counts from the first due time after the last success, so that a weekly backup does not count as overdue after three days.
    private func isOverdue(at now: Timestamp, _ schedule: Schedule, days: Int) -> Bool {
        guard let dueAt = schedule.next(after: base.start) else { return false }
        return now.secondsSince(dueAt) >= Int64(days) * Self.daySeconds
    }

    // MARK: - The file

    /// - Returns: `nil` when there is none, or it cannot be read.
    static func read(_ path: String) -> NotificationState? {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 16) else { return nil }
        let record = KeyValueRecord(decoding: bytes, dropsSpaces: true)
        func time(_ key: String) -> RecordedTime? {
            record.time("\(key)-at").map { RecordedTime($0, behindSince: record.time("\(key)-behind-since")) }
        }
        let succeeded = time("succeeded")
        guard let base = succeeded ?? time("begun") else { return nil }
        var state = NotificationState(begunAt: base.at)
        state.base = base
        state.hasSucceeded = succeeded != nil
        state.failureCount = record.number("failures") ?? 0
        state.alerted = time("alerted")
        return state
    }

    /// - Throws: when the file can neither be replaced nor overwritten in place.
    func write(to path: String) throws(BackupError) {
        var record = KeyValueRecord()
        func add(_ key: String, _ time: RecordedTime?) {
            record.append("\(key)-at", time?.at)
            record.append("\(key)-behind-since", time?.behindSince)
        }
        add(hasSucceeded ? "succeeded" : "begun", base)
        if failureCount > 0 { record.append("failures", failureCount) }
        add("alerted", alerted)
        var bytes = record.encoded
        bytes += Array(repeating: UInt8(ascii: " "), count: max(0, Self.sizeBytes - 1 - bytes.count)) + [UInt8(ascii: "\n")]
        do {
            try FileSystem.writeFileAtomically(path, bytes)
        } catch {
            // A power cut during this causes at most one notice too many.
            guard (try? FileSystem.overwriteStart(path, bytes)) != nil else { throw error }
        }
    }
}

/// The time of an event, by a clock that may have been wrong then or may be wrong now.
struct RecordedTime: Sendable, Equatable {
    let at: Timestamp
    /// When the clock was first seen to be behind this time. It is saved: a duration computed from the present time alone would
    /// restart at each check.
    private(set) var behindSince: Timestamp?

    init(_ at: Timestamp, behindSince: Timestamp? = nil) {
        self.at = at.wholeSeconds
        self.behindSince = behindSince?.wholeSeconds
    }

    /// Records whether the clock is behind this time. A clock that goes back further restarts the count.
    mutating func look(at now: Timestamp) {
        let now = now.wholeSeconds
        behindSince = at > now ? min(behindSince ?? now, now) : nil
    }

    /// The start for measuring elapsed time: a clock that was ahead hides any time before this.
    var start: Timestamp { behindSince ?? at }

    func secondsPassed(at now: Timestamp) -> Int64 { max(0, now.secondsSince(start)) }
}
