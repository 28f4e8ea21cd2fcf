import BackupCore
import Synchronization
import SystemIO

/// A user's confirmation that one restore may replace all data: the file `restore/CONFIRM`.
final class RestoreConfirmation: Sendable {
    struct Grant: Sendable, Equatable {
        let time: Timestamp
        /// By the monotonic clock: a clock that is set back must not lengthen it.
        let endNanoseconds: UInt64
    }

    static let name: FileName = "CONFIRM"

    private let seconds: UInt64
    private let grant = Mutex<Grant?>(nil)

    /// - Parameter seconds: how long a confirmation holds.
    init(seconds: UInt64) { self.seconds = seconds }

    /// The confirmation that holds now.
    var current: Grant? { grant.withLock { Self.valid($0) } }

    private static func valid(_ grant: Grant?) -> Grant? {
        grant.flatMap { SystemClock.monotonicNanoseconds() < $0.endNanoseconds ? $0 : nil }
    }

    /// Takes it for a restore, so that no other restore has it.
    func take() -> Grant? {
        grant.withLock { grant in
            defer { grant = nil }
            return Self.valid(grant)
        }
    }

    /// Gives it back: nothing was restored.
    func giveBack(_ grant: Grant) { self.grant.withLock { if Self.valid($0) == nil { $0 = grant } } }

    func begin() {
        let end = SystemClock.monotonicNanoseconds() + seconds * 1_000_000_000
        grant.withLock { $0 = Grant(time: SystemClock.now(), endNanoseconds: end) }
    }

    /// - Returns: whether there was one.
    func remove() -> Bool { take() != nil }
}
