import BackupCore

/// When something was, by a clock that may have been wrong then or may be wrong now.
struct RememberedTime: Sendable, Equatable {
    let at: Timestamp
    /// When the clock was first seen behind it. It is written down: what is reckoned from the present time alone is put off by each look.
    private(set) var behindSince: Timestamp?

    init(_ at: Timestamp, behindSince: Timestamp? = nil) {
        self.at = at.wholeSeconds
        self.behindSince = behindSince?.wholeSeconds
    }

    /// Notes whether the clock is behind it. One that goes back again begins again.
    mutating func look(at now: Timestamp) {
        let now = now.wholeSeconds
        behindSince = at > now ? min(behindSince ?? now, now) : nil
    }

    /// From when on the time since then is reckoned: a clock that was ahead hides the rest of it.
    var start: Timestamp { behindSince ?? at }

    func secondsPassed(at now: Timestamp) -> Int64 { max(0, now.secondsSince(start)) }
}
