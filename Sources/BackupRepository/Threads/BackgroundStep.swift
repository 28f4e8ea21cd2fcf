import BackupCore
import SystemIO

/// Work on another thread, whose result is needed later: a request whose answer does not depend on what is done meanwhile.
///
/// The thread works for the operation of the thread that began it, unless another one is given, and ends with that operation.
/// Wait for a step that has effects, also after an error.
public final class BackgroundStep<Value: Sendable>: Sendable {
    private static var lookNanoseconds: UInt64 { 50_000_000 }

    private let outcome = Monitor<Result<Value, BackupError>?>(nil)

    /// Begins the work. Where the system cannot start a thread, the calling thread does it.
    public init(
        of operation: Cancellation? = .current, _ body: @escaping @Sendable () throws(BackupError) -> Value
    ) {
        let cancellation = operation ?? Cancellation()
        let work: @Sendable () -> Void = { [outcome] in
            let result: Result<Value, BackupError>
            do throws(BackupError) {
                result = .success(try cancellation.run(body))
            } catch {
                result = .failure(error)
            }
            outcome.changeWakingAll { $0 = result }
        }
        do throws(BackupError) {
            try SystemThread(work).detach()
        } catch {
            work()
        }
    }

    /// Waits for the end of the work.
    public var result: Result<Value, BackupError> {
        while true {
            if let found = outcome.wait(until: { $0 != nil }, { $0 }) { return found }
        }
    }

    /// Waits for the end of the work.
    /// - Throws: its error.
    public func value() throws(BackupError) -> Value { try result.get() }

    /// Waits for the end of the work, or for that of the operation of the calling thread.
    /// - Parameter deadline: no longer than until then, as `SystemClock.bootNanoseconds`.
    /// - Returns: `nil` after the deadline; the work may go on then.
    /// - Throws: `interrupted` when this operation must end; the work may go on then.
    public func resultUnlessCancelled(until deadline: UInt64 = .max) throws(BackupError) -> Result<Value, BackupError>? {
        while !outcome.wait(until: { $0 != nil }, forNanoseconds: Self.lookNanoseconds) {
            try Cancellation.check()
            if SystemClock.bootNanoseconds() >= deadline { return nil }
        }
        return result
    }
}
