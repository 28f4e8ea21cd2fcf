import BackupCore

/// A snapshot that was removed and can be brought back until a prune gives it up.
public struct RemovedSnapshot: Hashable, Sendable {
    public let snapshot: Snapshot
    /// When it was removed, by the clock of the machine that did it; `nil` when that clock was known to be wrong. The time of grace begins with the next
    /// prune then.
    public let removalTime: Timestamp?
}

/// How long removed snapshots can be brought back.
public struct RemovalGrace: Sendable {
    /// Seven days.
    public static let standardSeconds: Int64 = 7 * 86_400

    let now: Timestamp
    private var seconds: @Sendable (Snapshot?) -> Int64
    private var seenTime: SeenTime?

    /// - Parameter seconds: how long a snapshot can be brought back after it was removed; asked with `nil` for one whose record is damaged:
    ///   then it is the longest time of all.
    public init(now: Timestamp, seconds: @escaping @Sendable (Snapshot?) -> Int64 = { _ in Self.standardSeconds }) {
        self.now = now
        self.seconds = seconds
    }

    /// The same, but over for some snapshots. One whose record cannot be read may be any other.
    public func over(for isOver: @escaping @Sendable (Snapshot) -> Bool) -> RemovalGrace {
        var grace = self
        grace.seconds = { [seconds] snapshot in snapshot.map(isOver) ?? false ? .min : seconds(snapshot) }
        return grace
    }

    /// The same, but a clock that jumps ahead does not end it at once: of a stretch in which the clock was not seen, a quarter of the time of grace
    /// counts at most, or two days.
    /// - Parameters:
    ///   - times: when the clock was seen, in any order.
    ///   - believedStepSeconds: how long a stretch may be that counts as a whole all the same.
    public func counting(clockSeenAt times: [Timestamp], believedStepSeconds: Int64 = 0) -> RemovalGrace {
        var grace = self
        grace.seenTime = SeenTime(times, now: now, believedStepSeconds: believedStepSeconds)
        return grace
    }

    /// Whether the time is over by the clock, and not by when the clock was seen.
    func isHeldByClock(_ removed: RemovedSnapshot) -> Bool { end(of: removed) <= now && !isOver(for: removed) }

    /// Until when it can be brought back; when the time of the removal is not known, if a prune ran now.
    public func end(of removed: RemovedSnapshot) -> Timestamp { end(removed.removalTime, removed.snapshot) }

    private func end(_ removalTime: Timestamp?, _ snapshot: Snapshot?) -> Timestamp {
        let seconds = seconds(snapshot)
        let (sum, hasOverflown) = (removalTime ?? now).seconds.addingReportingOverflow(seconds)
        return Timestamp(seconds: hasOverflown ? (seconds < 0 ? .min : .max) : sum)
    }

    /// A removal in the future, by a clock that was wrong then or is wrong now, is not over.
    public func isOver(for removed: RemovedSnapshot) -> Bool { isOver(removed.removalTime, removed.snapshot) }

    /// What cannot be read for another reason than damage can be read another time.
    func isOver(for damage: RemovedDamage) -> Bool {
        damage.error.code == .repositoryDamaged && isOver(damage.removalTime, nil)
    }

    private func isOver(_ removalTime: Timestamp?, _ snapshot: Snapshot?) -> Bool {
        guard end(removalTime, snapshot) <= now else { return false }
        guard let seenTime, let removalTime else { return true }
        return seenTime.isPast(seconds(snapshot), after: removalTime)
    }
}
