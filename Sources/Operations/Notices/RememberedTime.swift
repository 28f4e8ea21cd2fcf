import BackupCore

/// The time of an event, by a clock that may have been wrong then or may be wrong now.
struct RememberedTime: Sendable, Equatable {
    let at: Timestamp
    /// When the clock was first seen to be behind this time. It is saved: a duration computed from the present time alone would restart at each check.
    private(set) var behindSince: Timestamp?

    init(_ at: Timestamp, behindSince: Timestamp? = nil) {
        self.at = at.wholeSeconds
        self.behindSince = behindSince?.wholeSeconds
    }

    /// Records whether the clock is behind this time. A clock that goes back further restarts the count.
    mutating func look(at now: Timestamp) {
        let now = now.wholeSeconds
        behindSince = at > now ? min(behindSince ?? now, now) : nil
    }

    /// The start for measuring elapsed time: a clock that was ahead hides any time before this.
    var start: Timestamp { behindSince ?? at }

    func secondsPassed(at now: Timestamp) -> Int64 { max(0, now.secondsSince(start)) }
}
