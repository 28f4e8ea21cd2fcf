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
    var current: Grant? {
        grant.withLock { grant in
            if let known = grant, known.endNanoseconds <= SystemClock.monotonicNanoseconds() { grant = nil }
            return grant
        }
    }

    /// Takes it for a restore, so that no other restore has it.
    func take() -> Grant? {
        let current = current
        return current.flatMap { grant in self.grant.withLock { if $0 == grant { $0 = nil; return grant } else { return nil } } }
    }

    /// Gives it back: nothing was restored.
    func giveBack(_ grant: Grant) { self.grant.withLock { if $0 == nil { $0 = grant } } }

    func begin() {
        let end = SystemClock.monotonicNanoseconds() + seconds * 1_000_000_000
        grant.withLock { $0 = Grant(time: SystemClock.now(), endNanoseconds: end) }
    }

    /// - Returns: whether there was one.
    func remove() -> Bool { take() != nil }
}
