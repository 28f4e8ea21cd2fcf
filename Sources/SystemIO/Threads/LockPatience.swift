import BackupCore
import Glibc
import Synchronization

/// How long this process waits for a lock that another operation holds: not at all, unless a user asks for it (`--wait`). A mount never waits: it
/// answers every request immediately.
public enum LockPatience {
    private struct Patience: Sendable {
        /// `nil` for no limit.
        let nanoseconds: UInt64?
        let tell: @Sendable (Message) -> Void
    }

    private static let patience = Mutex<Patience?>(nil)
    private static let pauseMicroseconds: UInt32 = 50_000

    /// - Parameters:
    ///   - seconds: for each lock; `nil` for no limit.
    ///   - tell: called once for each lock that is waited for, with a message that names the lock holder.
    public static func begin(seconds: Int64?, tell: @escaping @Sendable (Message) -> Void) {
        let nanoseconds = seconds.map { UInt64(clamping: $0).multipliedReportingOverflow(by: 1_000_000_000) }
        patience.withLock {
            $0 = Patience(nanoseconds: nanoseconds.map { $0.overflow ? .max : $0.partialValue }, tell: tell)
        }
    }

    /// Retries `body` until it does not throw `busy`, or the time is over.
    /// - Throws: errors of `body`; `interrupted` for a signal.
    public static func waiting<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        let first: BackupError
        do throws(BackupError) {
            return try body()
        } catch {
            first = error
        }
        guard first.code == .busy, let patience = patience.withLock({ $0 }) else { throw first }
        let began = SystemClock.monotonicNanoseconds()
        return try CancellingSignals.run { () throws(BackupError) in
            // A signal may come as soon as a user sees the message.
            patience.tell(first.message)
            while true {
                if Cancellation.isProcessEnding { throw BackupError(.interrupted, "cancelled; nothing was changed") }
                usleep(pauseMicroseconds)
                do throws(BackupError) {
                    return try body()
                } catch {
                    let waited = SystemClock.monotonicNanoseconds() - began
                    guard error.code == .busy, patience.nanoseconds.map({ waited < $0 }) != false else { throw error }
                }
            }
        }
    }
}
