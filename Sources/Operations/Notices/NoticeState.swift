import AppData
import BackupCore
import SystemIO

/// What is remembered of automatic backups so that a user is told once, and not once for each attempt: `notice.state` of a store, lines of text,
/// `key: value`. It is not a part of `schedule.state`: another schedule begins anew there, and it is changed while another operation runs.
struct NoticeState: Sendable, Equatable {
    /// What an attempt came to.
    enum Event: Sendable, Equatable {
        case made
        case unchanged
        case failed
        /// Another operation runs: that is no failure, but it may go on for days.
        case waiting
    }

    /// A notice that lasts is repeated after that time.
    private static let repeatSeconds: Int64 = 86_400
    private static let daySeconds: Int64 = 86_400
    /// The file keeps its size, so that it can be written over where a full disk has no room for another.
    private static let sizeBytes = 256

    /// From when on none has succeeded: when the last one did, or when the first was tried.
    var base: RememberedTime
    /// Whether one has succeeded then.
    var hasSucceeded = false
    /// In a row.
    var failureCount = 0
    /// When a user was last told that they fail; `nil` while they do not.
    var alerted: RememberedTime?

    init(begunAt now: Timestamp) { base = RememberedTime(now) }

    /// Notes what an attempt came to.
    /// - Returns: what there is to say of it now.
    mutating func note(
        _ event: Event, at now: Timestamp, schedule: Schedule, _ settings: NoticeSettings
    ) -> AutomaticNotice? {
        base.look(at: now)
        alerted?.look(at: now)
        switch event {
        case .made, .unchanged:
            base = RememberedTime(now)
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
        alerted = RememberedTime(now)
        return isOverdue ? .overdue : .failing
    }

    /// Counted from when the first was due after the last that succeeded, so that a weekly backup is not missed after three days.
    private func isOverdue(at now: Timestamp, _ schedule: Schedule, days: Int) -> Bool {
        guard let dueAt = schedule.next(after: base.start) else { return false }
        return now.secondsSince(dueAt) >= Int64(days) * Self.daySeconds
    }

    // MARK: - The file

    /// - Returns: `nil` when there is none, or none that can be read.
    static func read(_ path: String) -> NoticeState? {
        guard let bytes = try? FileSystem.readFile(path, limitBytes: 1 << 16) else { return nil }
        var values: [Substring: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            values[line[..<colon]] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        func time(_ key: String) -> RememberedTime? {
            values["\(key)-at"].flatMap { ISO8601.parse($0) }.map {
                RememberedTime($0, behindSince: values["\(key)-behind-since"].flatMap { ISO8601.parse($0) })
            }
        }
        let succeeded = time("succeeded")
        guard let base = succeeded ?? time("begun") else { return nil }
        var state = NoticeState(begunAt: base.at)
        state.base = base
        state.hasSucceeded = succeeded != nil
        state.failureCount = values["failures"].flatMap { Int($0) } ?? 0
        state.alerted = time("alerted")
        return state
    }

    /// - Throws: when neither another file can take its place nor its bytes be written over.
    func write(to path: String) throws(BackupError) {
        var lines: [String] = []
        func add(_ key: String, _ time: RememberedTime?) {
            guard let time else { return }
            lines.append("\(key)-at: \(ISO8601.format(time.at))")
            if let behindSince = time.behindSince { lines.append("\(key)-behind-since: \(ISO8601.format(behindSince))") }
        }
        add(hasSucceeded ? "succeeded" : "begun", base)
        if failureCount > 0 { lines.append("failures: \(failureCount)") }
        add("alerted", alerted)
        var bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        bytes += Array(repeating: UInt8(ascii: " "), count: max(0, Self.sizeBytes - 1 - bytes.count)) + [UInt8(ascii: "\n")]
        do {
            try FileSystem.writeFileAtomically(path, bytes)
        } catch {
            // A power cut in the midst of it costs a notice too many at most.
            guard (try? FileSystem.writeOver(path, bytes)) != nil else { throw error }
        }
    }
}
