import TestSupport

/// How long the program is used, and with which choices: `make soak MINUTES=10 SEED=7`.
struct SoakPlan: Sendable, CustomStringConvertible {
    /// Without `BACKUPFS_SOAK_MINUTES` there is no soak: it takes as long as one likes.
    static let current = SoakPlan()

    let seconds: Double
    /// The same seed makes the same choices. What the scheduler makes of them is different each time.
    let seed: UInt64

    /// The first part, in which the process that serves the mount is killed again and again. In the rest it lives on, so that its
    /// memory can be looked at over time; commands are killed all the time.
    var secondsWithKills: Double { seconds * 0.4 }

    private init() {
        seconds = (Machine.environment("BACKUPFS_SOAK_MINUTES").flatMap(Double.init) ?? 0) * 60
        seed = Machine.environment("BACKUPFS_SOAK_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 1...999_999)
    }

    static var isWanted: Bool { current.seconds > 0 }

    var description: String { "MINUTES=\(seconds / 60) SEED=\(seed)" }
}
