import BackupCore

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
    private var seenTime: SeenTime?

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

    /// The same, but a clock that jumps ahead does not end the period immediately: an interval in which the clock was not seen counts for at most a quarter of
    /// the grace period, or two days, whichever is longer.
    /// - Parameters:
    ///   - times: when the clock was seen, in any order.
    ///   - believedStepSeconds: intervals up to this length always count in full.
    public func counting(clockSeenAt times: [Timestamp], believedStepSeconds: Int64 = 0) -> RemovalGrace {
        var grace = self
        grace.seenTime = SeenTime(times, now: now, believedStepSeconds: believedStepSeconds)
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

    /// Whether the period is over. It is not over if the removal is dated in the future, by a clock that was wrong then or is wrong now.
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
