import BackupCore
import BackupRepository

/// The age of a backup for retention. A wrong clock, or a machine that was off for a year, must not make a whole history too old
/// in one step: time counts in full only while backups are made.
enum RetentionAge {
    /// The longest time between two backups that counts in full. A longer one counts as this.
    static let longestGapSeconds: Int64 = 7 * 86_400

    /// The creation times used for ages: those of the clock, as long as backups follow each other within a week.
    ///
    /// Time passes only between the backups of one clock (`ClockLines`): otherwise, each change from a wrong clock to the right
    /// one would count as a week. The last backup of a clock is as old as the backup made after it. And no backup is older than a
    /// later one plus the time between the two by the clock: otherwise several jumps ahead would add up. So the right clock never
    /// overestimates the age of its own backups. While the clock is ahead, each jump since the last backup by the right clock
    /// counts as `longestGapSeconds` at most.
    /// - Parameter snapshots: the snapshots of one source in the order of their creation.
    static func countedTimes(of snapshots: [Snapshot], now: Timestamp) -> [Timestamp] {
        countedTimes(of: snapshots.map(\.creationTime), now: now)
    }

    static func countedTimes(of times: [Timestamp], now: Timestamp) -> [Timestamp] {
        var nextOfLine: [Int?] = Array(repeating: nil, count: times.count)
        for line in ClockLines.split(times, now: now) {
            for (index, next) in zip(line, line.dropFirst()) { nextOfLine[index] = next }
        }
        var ages: [Int64] = Array(repeating: 0, count: times.count)
        var laterTimes = FutureTimes(times + [now])
        laterTimes.insert(now, ageSeconds: 0)
        for index in times.indices.reversed() {
            if let next = nextOfLine[index] {
                ages[index] = ages[next].addingSaturating(gapSeconds(from: times[index], to: times[next]))
            } else if index + 1 < times.count {
                ages[index] = ages[index + 1]
            } else {
                ages[index] = gapSeconds(from: times[index], to: now)
            }
            if let limit = laterTimes.ageLimitSeconds(at: times[index]) { ages[index] = min(ages[index], limit) }
            laterTimes.insert(times[index], ageSeconds: ages[index])
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

/// Upper limits on the age of an earlier backup, from later backups and the current time. Uses a tree of minima over the times
/// (Fenwick, "A new data structure for cumulative frequency tables", 1994): ten thousand backups take no longer than sorting
/// them.
private struct FutureTimes {
    /// All times, in descending order.
    private let order: [Int64]
    /// Minimal sums of time and age. Position 0 is not used.
    private var sums: [Int64]

    init(_ times: [Timestamp]) {
        order = times.map(\.seconds).sorted(by: >)
        sums = Array(repeating: .max, count: times.count + 1)
    }

    mutating func insert(_ time: Timestamp, ageSeconds: Int64) {
        let sum = time.seconds.addingSaturating(ageSeconds)
        var position = count(notBefore: time)
        while position < sums.count {
            sums[position] = min(sums[position], sum)
            position += position & -position
        }
    }

    /// The minimum over all inserted times not before this one of the age plus the time between the two.
    func ageLimitSeconds(at time: Timestamp) -> Int64? {
        var least = Int64.max
        var position = count(notBefore: time)
        while position > 0 {
            least = min(least, sums[position])
            position -= position & -position
        }
        return least == .max ? nil : max(0, least.subtractingSaturating(time.seconds))
    }

    /// The number of times that are not before this one.
    private func count(notBefore time: Timestamp) -> Int {
        var (low, high) = (0, order.count)
        while low < high {
            let middle = (low + high) / 2
            if order[middle] >= time.seconds { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
