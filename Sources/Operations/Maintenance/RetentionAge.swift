import BackupCore
import BackupRepository

/// How old a backup is, as retention counts it. A clock that is wrong, or a machine that was off for a year, must not make a whole history too old at
/// once: time counts in full only while backups are made.
enum RetentionAge {
    /// The longest time between two backups that counts in full. A longer one counts as this.
    static let longestGapSeconds: Int64 = 7 * 86_400

    /// The creation times by which ages are counted: those of the clock, as long as backups follow one another within a week.
    ///
    /// Time passes between the backups of one clock only (`ClockLines`): each change from a wrong clock to the right one would count as a week otherwise.
    /// The last backup of a clock is as old as the one that was made after it.
    /// - Parameter snapshots: of one source, in the order in which they were made.
    static func countedTimes(of snapshots: [Snapshot], now: Timestamp) -> [Timestamp] {
        countedTimes(of: snapshots.map(\.creationTime), now: now)
    }

    static func countedTimes(of times: [Timestamp], now: Timestamp) -> [Timestamp] {
        var nextOfLine: [Int?] = Array(repeating: nil, count: times.count)
        for line in ClockLines.split(times, now: now) {
            for (index, next) in zip(line, line.dropFirst()) { nextOfLine[index] = next }
        }
        var ages: [Int64] = Array(repeating: 0, count: times.count)
        for index in times.indices.reversed() {
            if let next = nextOfLine[index] {
                ages[index] = ages[next].addingSaturating(gapSeconds(from: times[index], to: times[next]))
            } else if index + 1 < times.count {
                ages[index] = ages[index + 1]
            } else {
                ages[index] = gapSeconds(from: times[index], to: now)
            }
        }
        return times.indices.map {
            Timestamp(seconds: now.seconds.subtractingSaturating(ages[$0]), nanoseconds: times[$0].nanoseconds)
        }
    }

    /// 0 where the clock went back.
    private static func gapSeconds(from earlier: Timestamp, to later: Timestamp) -> Int64 {
        min(max(0, later.secondsSince(earlier)), longestGapSeconds)
    }
}
