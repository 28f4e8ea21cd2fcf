import BackupCore
import Synchronization
import SystemIO

/// A removed snapshot that can be undeleted until a prune gives it up.
public struct RemovedSnapshot: Hashable, Sendable {
    public let snapshot: Snapshot
    /// When it was removed, by the clock of the machine that removed it; `nil` when that
    /// clock was known to be wrong. The grace period then begins with the next prune.
    public let removalTime: Timestamp?
}

/// How long removed snapshots can be undeleted.
public struct RemovalGrace: Sendable {
    /// Seven days.
    public static let standardSeconds: Int64 = 7 * 86_400

    let now: Timestamp
    private var seconds: @Sendable (Snapshot?) -> Int64
    private var seenTime: ObservedTime?

    /// - Parameter seconds: how long a snapshot can be undeleted after its removal; called with
    ///   `nil` for one with a damaged record, and returns the longest of all periods then.
    public init(now: Timestamp, seconds: @escaping @Sendable (Snapshot?) -> Int64 = { _ in Self.standardSeconds }) {
        self.now = now
        self.seconds = seconds
    }

    /// The same, but expired for some snapshots. A snapshot with an unreadable record is not affected.
    public func over(for isOver: @escaping @Sendable (Snapshot) -> Bool) -> RemovalGrace {
        var grace = self
        grace.seconds = { [seconds] snapshot in snapshot.map(isOver) ?? false ? .min : seconds(snapshot) }
        return grace
    }

    /// The same, but a clock that jumps ahead does not end the period immediately: an interval in which the clock was not seen
    /// counts for at most a quarter of the grace period, or two days, whichever is longer.
    /// - Parameters:
    ///   - times: when the clock was seen, in any order.
    ///   - believedStepSeconds: intervals up to this length always count in full.
    public func counting(clockSeenAt times: [Timestamp], believedStepSeconds: Int64 = 0) -> RemovalGrace {
        var grace = self
        grace.seenTime = ObservedTime(times, now: now, believedStepSeconds: believedStepSeconds)
        return grace
    }

    /// Whether the period is over by the clock, but not by the times at which the clock was seen.
    func isHeldByClock(_ removed: RemovedSnapshot) -> Bool { end(of: removed) <= now && !isOver(for: removed) }

    /// The end of the grace period; if the time of the removal is unknown, as if a prune ran now.
    public func end(of removed: RemovedSnapshot) -> Timestamp { end(removed.removalTime, removed.snapshot) }

    private func end(_ removalTime: Timestamp?, _ snapshot: Snapshot?) -> Timestamp {
        let seconds = seconds(snapshot)
        let (sum, hasOverflown) = (removalTime ?? now).seconds.addingReportingOverflow(seconds)
        return Timestamp(seconds: hasOverflown ? (seconds < 0 ? .min : .max) : sum)
    }

    /// Whether the period is over. It is not over if the removal is dated in the future, by a clock that was wrong then or is
    /// wrong now.
    public func isOver(for removed: RemovedSnapshot) -> Bool { isOver(removed.removalTime, removed.snapshot) }

    /// A record that is unreadable for another reason than damage may become readable later.
    func isOver(for damage: RemovedDamage) -> Bool {
        damage.error.code == .repositoryDamaged && isOver(damage.removalTime, nil)
    }

    private func isOver(_ removalTime: Timestamp?, _ snapshot: Snapshot?) -> Bool {
        guard end(removalTime, snapshot) <= now else { return false }
        guard let seenTime, let removalTime else { return true }
        return seenTime.isPast(seconds(snapshot), after: removalTime)
    }
}

/// How much time has passed, judging by the times at which the clock was seen. A machine that was off for a week looks like a
/// clock that jumped a week ahead.
struct ObservedTime: Sendable {
    /// Two days.
    private static let shortestStepSeconds: Int64 = 2 * 86_400

    /// Ascending; the last one is now.
    private let times: [Timestamp]
    private let believedStepSeconds: Int64

    /// - Parameter believedStepSeconds: intervals up to this length always count in full.
    init(_ times: [Timestamp], now: Timestamp, believedStepSeconds: Int64) {
        self.times = times.filter { $0 < now }.sorted() + [now]
        self.believedStepSeconds = believedStepSeconds
    }

    /// - Returns: whether `seconds` have passed, where each longer interval counts for at most a quarter of them, or two days.
    func isPast(_ seconds: Int64, after start: Timestamp) -> Bool {
        let longestStep = max(Self.shortestStepSeconds, seconds / 4)
        var rest = seconds
        var previous = start
        for time in times[times.partitioningIndex { start < $0 }...] {
            guard rest > 0 else { return true }
            let step = time.secondsSince(previous)
            rest = rest.subtractingSaturating(step <= believedStepSeconds ? step : min(longestStep, step))
            previous = time
        }
        return rest <= 0
    }
}

/// Listing the removed snapshots that can be undeleted.
extension SnapshotStore {
    /// The snapshots that could be undeleted when the folders had these stamps.
    struct KnownRemoved: Sendable {
        let snapshots: [RemovedSnapshot]
        let stamps: [FolderVersion]
    }

    /// The snapshots that can be undeleted, in the order of their removal, and the records that cannot be read.
    func readRemoved() throws(BackupError) -> (snapshots: [RemovedSnapshot], damages: [RemovedDamage]) {
        let now = SystemClock.now()
        var snapshots: [RemovedSnapshot] = []
        var damages: [RemovedDamage] = []
        var labelDamages: [BackupError] = []
        for name in try FileSystem.names(in: layout.removed) {
            guard let digest = RepositoryLayout.digest(in: name, extension: RepositoryLayout.snapshotExtension) else { continue }
            let id = SnapshotID(digest)
            guard list[id] == nil else { continue }
            let path = layout.removedPath(of: id)
            // Undeleted or given up since the folder was listed.
            guard let status = try FileSystem.ifPresent({ () throws(BackupError) in try FileSystem.status(path) }) else {
                continue
            }
            let modificationTime = status.modificationTime
            var time: Timestamp? = modificationTime > Self.unknownRemovalTime ? modificationTime : nil
            do throws(BackupError) {
                let record = try readRecord(id, at: path)
                let label = try readLabel(id, record, &labelDamages)
                // A removal dated before the creation was made with a wrong clock. That does not hold if the creation is dated in
                // the future.
                if modificationTime < record.creationTime, record.creationTime <= now { time = nil }
                snapshots.append(RemovedSnapshot(snapshot: Snapshot(id: id, record: record, label: label), removalTime: time))
            } catch {
                if error.code == .notFound { continue }
                damages.append(RemovedDamage(id: id, removalTime: time, error: error))
            }
        }
        snapshots.sort { left, right in
            guard let leftTime = left.removalTime, let rightTime = right.removalTime, leftTime != rightTime else {
                return (left.removalTime == nil) == (right.removalTime == nil)
                    ? Snapshot.precedes(left.snapshot, right.snapshot) : right.removalTime == nil
            }
            return leftTime < rightTime
        }
        return (snapshots, damages)
    }

    /// The snapshots that can be undeleted, in the order of their removal. The records are read again only when entries of the
    /// folders have changed: the state of a mount queries them again and again, and there may be thousands.
    func removedSnapshots() throws(BackupError) -> [RemovedSnapshot] {
        try refresh()
        // Taken before reading, as in `scan`.
        let stamps = try FileSystem.ifPresent { () throws(BackupError) in
            [
                try FolderVersion(path: layout.removed), try FolderVersion(path: layout.snapshots),
                try FolderVersion(path: layout.labels),
            ]
        }
        guard let stamps else { return [] }
        let known = lastRemoved.withLock { $0 }
        if let known, zip(known.stamps, stamps).allSatisfy({ $0.covers($1) }) { return known.snapshots }
        let snapshots = try readRemoved().snapshots
        lastRemoved.withLock { $0 = KnownRemoved(snapshots: snapshots, stamps: stamps) }
        return snapshots
    }
}

/// A record in `removed/` that cannot be read.
struct RemovedDamage {
    let id: SnapshotID
    /// `nil` when it is unknown.
    let removalTime: Timestamp?
    let error: BackupError
}
