import BackupCore
import BackupRepository

/// How old a backup is, as retention counts it. A clock that is wrong, or a machine that was off for a year, must not make a whole history too old at
/// once: time counts in full only while backups are made.
enum RetentionAge {
    /// The longest time between two backups that counts in full. A longer one counts as this.
    static let longestGapSeconds: Int64 = 7 * 86_400

    /// The creation times by which ages are counted: those of the clock, as long as backups follow one another within a week.
    /// - Parameter snapshots: of one source, in the order in which they were made.
    static func countedTimes(of snapshots: [Snapshot], now: Timestamp) -> [Timestamp] {
        var counted = now
        var later = now
        let reversed = snapshots.reversed().map { snapshot -> Timestamp in
            counted = Timestamp(
                seconds: counted.seconds.subtractingSaturating(gapSeconds(from: snapshot.creationTime, to: later)),
                nanoseconds: snapshot.creationTime.nanoseconds)
            later = snapshot.creationTime
            return counted
        }
        return reversed.reversed()
    }

    /// 0 where the clock went back.
    private static func gapSeconds(from earlier: Timestamp, to later: Timestamp) -> Int64 {
        min(max(0, later.secondsSince(earlier)), longestGapSeconds)
    }
}
