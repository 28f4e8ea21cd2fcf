import BackupCore

/// Groups backups by the clocks that made them. A machine whose clock has no battery makes some backups in 2020 and some at the right time, alternately; which
/// of two clocks was wrong cannot be known for certain. So backups are split into lines in which time does not go back, and a rule counts the periods of each
/// line separately. It may then keep too much, but the backups of one clock never displace those of another.
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
