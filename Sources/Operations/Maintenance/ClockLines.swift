import BackupCore

/// Backups by the clocks that made them. A machine whose clock has no battery makes some backups at 2020 and some at the right time, in turns; which of two
/// clocks was the wrong one cannot be known for certain. So their backups make up lines in which time does not go back, and a rule counts the
/// periods of each line by itself: it can keep too much then, but nothing that one clock made ends what another one made.
enum ClockLines {
    /// - Parameter times: of backups in the order in which they were made.
    /// - Returns: indices into `times`, each in one line, in the same order. As long as the clock was right there is one line.
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

    /// The hour that is set back in autumn, or a clock that was put right by minutes, is no wrong clock.
    private static func isBehind(_ time: Timestamp, _ other: Timestamp) -> Bool {
        other.secondsSince(time) > RetentionGuard.behindSeconds
    }

    /// When backups were made as far as the others tell: one that is behind an earlier one counts as made with that one.
    /// - Parameter times: of backups in the order in which they were made.
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
