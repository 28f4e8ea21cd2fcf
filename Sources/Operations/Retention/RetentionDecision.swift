import AppData
import BackupCore
import SystemIO

/// The outcome of a policy for one backup, with the reasons.
public struct RetentionDecision: Sendable {
    public let candidate: RetentionCandidate
    /// Why it is kept; empty when it is removed.
    public let reasons: [Message]

    var isKept: Bool { !reasons.isEmpty }
}

/// The properties that a policy considers.
public struct RetentionCandidate: Sendable {
    public let name: FileName
    let creationTime: Timestamp
    let tags: [String]
    let isPinned: Bool
    /// The order in which the backups of a source were made; equal numbers are ordered by time.
    public let sequence: UInt64
    /// The creation time that determines its age.
    public let countedTime: Timestamp

    /// - Parameter countedTime: `nil` for the creation time itself.
    public init(
        name: FileName, creationTime: Timestamp, tags: [String], isPinned: Bool, sequence: UInt64 = 0,
        countedTime: Timestamp? = nil
    ) {
        self.name = name
        self.creationTime = creationTime
        self.tags = tags
        self.isPinned = isPinned
        self.sequence = sequence
        self.countedTime = countedTime ?? creationTime
    }

    /// Newest first.
    static func follows(_ left: RetentionCandidate, _ right: RetentionCandidate) -> Bool {
        left.sequence == right.sequence ? left.creationTime > right.creationTime : left.sequence > right.sequence
    }
}

extension RetentionPolicy {
    private struct Bucket {
        var limit: Limit
        let reason: Message
        /// The hour, day, … of a time as a number; equal for two times in the same one.
        let number: (LocalDateTime) -> Int
        /// The periods that have a backup. One that recurs because the clock went back counts once.
        var seen: Set<Int> = []
    }

    /// Decides as restic's `forget` does, in local time. The newest and pinned backups are always kept. Periods are counted for
    /// each line of `ClockLines` separately: backups of a wrong clock do not displace those of the right one, nor vice versa.
    /// - Parameter now: backups from the future do not count as the newest when periods are counted.
    /// - Returns: in the order of `candidates`, which does not matter.
    public func decide(_ candidates: [RetentionCandidate], now: Timestamp) -> [RetentionDecision] {
        let order = candidates.indices.sorted { RetentionCandidate.follows(candidates[$0], candidates[$1]) }
        let start = within.flatMap { period in
            // With a clock that is behind all backups, none is too old.
            let times = candidates.map(\.countedTime)
            return (times.filter { $0 <= now }.max() ?? times.min()).map { period.start(before: $0) }
        }
        var reasons = [[Message]](repeating: [], count: candidates.count)
        for (position, index) in order.enumerated() {
            let candidate = candidates[index]
            for list in tags where list.allSatisfy(candidate.tags.contains) {
                let names = list.joined(separator: ", ")
                reasons[index].append(.plural(list.count, one: "has tag \(names)", other: "has tags \(names)"))
            }
            if let start, let within, candidate.countedTime > start { reasons[index].append("within \(within.text)") }
            if isAmongLast(position) { reasons[index].append("last snapshot") }
        }
        for line in ClockLines.split(order.reversed().map { candidates[$0].creationTime }, now: now) {
            let newestFirst = line.reversed().map { order[order.count - 1 - $0] }
            keepByCalendar(newestFirst, candidates, &reasons)
        }
        for (position, index) in order.enumerated() {
            if candidates[index].isPinned { reasons[index].append("pinned") }
            if position == 0, reasons[index].isEmpty { reasons[index].append("newest backup") }
        }
        return candidates.indices.map { RetentionDecision(candidate: candidates[$0], reasons: reasons[$0]) }
    }

    private func isAmongLast(_ position: Int) -> Bool {
        switch last {
        case .count(let count): position < count
        case .unlimited: true
        case nil: false
        }
    }

    private func keepByCalendar(_ newestFirst: [Int], _ candidates: [RetentionCandidate], _ reasons: inout [[Message]]) {
        var buckets = buckets
        for index in newestFirst {
            let time = LocalDateTime(candidates[index].creationTime)
            for bucket in buckets.indices {
                if case .count(0) = buckets[bucket].limit { continue }
                let isNew = buckets[bucket].seen.insert(buckets[bucket].number(time)).inserted
                // The oldest is kept while the limit is not reached, so that history reaches back as far as possible.
                guard isNew || index == newestFirst.last else { continue }
                let reason = buckets[bucket].reason
                reasons[index].append(isNew ? reason : "oldest \(reason)")
                if case .count(let count) = buckets[bucket].limit { buckets[bucket].limit = .count(count - 1) }
            }
        }
    }

    private var buckets: [Bucket] {
        [
            hourly.map { Bucket(limit: $0, reason: "hourly snapshot") { ($0.date * 100) + $0.hour } },
            daily.map { Bucket(limit: $0, reason: "daily snapshot") { $0.date } },
            weekly.map { Bucket(limit: $0, reason: "weekly snapshot") { $0.isoWeek } },
            monthly.map { Bucket(limit: $0, reason: "monthly snapshot") { $0.year * 100 + $0.month } },
            yearly.map { Bucket(limit: $0, reason: "yearly snapshot") { $0.year } },
        ].compactMap { $0 }
    }
}

extension RetentionDefinition {
    private static let secondsPerDay: Int64 = 86_400

    /// Both limits apply: backups beyond the newest `keepLast` are removed, and so are those older than `keepWithinDays` days.
    /// The newest and pinned backups are always kept.
    /// - Returns: in the order of `candidates`, which does not matter.
    public func decide(_ candidates: [RetentionCandidate], now: Timestamp) -> [RetentionDecision] {
        let order = candidates.indices.sorted { RetentionCandidate.follows(candidates[$0], candidates[$1]) }
        var reasons = [[Message]](repeating: [], count: candidates.count)
        for (position, index) in order.enumerated() {
            let candidate = candidates[index]
            var fits: [Message] = []
            var isOut = false
            if let keepLast { if position < keepLast { fits.append("newest \(keepLast)") } else { isOut = true } }
            if let keepWithinDays {
                let oldest = Timestamp(
                    seconds: now.seconds - Int64(keepWithinDays) * Self.secondsPerDay, nanoseconds: now.nanoseconds)
                if candidate.countedTime >= oldest {
                    fits.append(
                        .plural(keepWithinDays, one: "within \(keepWithinDays) day", other: "within \(keepWithinDays) days"))
                } else {
                    isOut = true
                }
            }
            if !isOut { reasons[index].append(.joined(fits)) }
            if candidate.isPinned { reasons[index].append("pinned") }
            if position == 0, reasons[index].isEmpty { reasons[index].append("newest backup") }
        }
        return candidates.indices.map { RetentionDecision(candidate: candidates[$0], reasons: reasons[$0]) }
    }
}

/// Groups backups by the clocks that made them. A machine whose clock has no battery makes some backups in 2020 and some at the
/// right time, alternately; which of two clocks was wrong cannot be known for certain. So backups are split into lines in which
/// time does not go back, and a rule counts the periods of each line separately. It may then keep too much, but the backups of
/// one clock never displace those of another.
enum ClockLines {
    /// - Parameter times: the times of backups in the order of their creation.
    /// - Returns: indices into `times`, each in exactly one line, in the same order. While the clock is right there is one line.
    static func split(_ times: [Timestamp], now: Timestamp) -> [[Int]] {
        let (future, past) = times.indices.reduce(into: ([Int](), [Int]())) { parts, index in
            if isBehind(now, times[index]) { parts.0.append(index) } else { parts.1.append(index) }
        }
        return [past, future].flatMap { lines(of: $0, times) }
    }

    /// Each joins the first line whose latest time it is not behind.
    private static func lines(of indices: [Int], _ times: [Timestamp]) -> [[Int]] {
        var lines: [(indices: [Int], latest: Timestamp)] = []
        for index in indices {
            if let line = lines.firstIndex(where: { !isBehind(times[index], $0.latest) }) {
                lines[line].indices.append(index)
                lines[line].latest = max(lines[line].latest, times[index])
            } else {
                lines.append(([index], times[index]))
            }
        }
        return lines.map(\.indices)
    }

    /// The hour repeated when DST ends, or a correction by minutes, does not count as a wrong clock.
    private static func isBehind(_ time: Timestamp, _ other: Timestamp) -> Bool {
        other.secondsSince(time) > RetentionGuard.behindSeconds
    }

    /// The plausible creation times of backups: one that is behind an earlier one counts as made at that one's time.
    /// - Parameter times: the times of backups in the order of their creation.
    static func believableTimes(_ times: [Timestamp], now: Timestamp) -> [Timestamp] {
        var latest: Timestamp?
        return times.map { time in
            guard !isBehind(now, time) else { return time }
            let believable = latest.map { max($0, time) } ?? time
            latest = believable
            return believable
        }
    }
}
