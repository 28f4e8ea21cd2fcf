import BackupCore
import Operations
import Synchronization
import SystemIO

/// The log entries of a mount: that it is mounted, has ended, or failed to mount.
final class MountLog: Sendable {
    private struct State {
        var beganAt = SystemClock.now()
        var began = SystemClock.monotonicNanoseconds()
        var isMounted = false
    }

    private let store: Store
    private let state = Mutex(State())

    init(store: Store) { self.store = store }

    /// The mount responds. The time mounted counts from here.
    func noteMount() {
        note(.mount, .ok, nil)
        state.withLock {
            $0 = State()
            $0.isMounted = true
        }
    }

    func noteEnd() { note(.unmount, .ok, nil) }

    func noteFailure(_ error: any Error) {
        let code = (error as? BackupError)?.code ?? .inputOutput
        note(
            state.withLock { $0.isMounted } ? .unmount : .mount, [.locked, .usage, .busy].contains(code) ? .refused : .failed,
            code)
    }

    private func note(_ operation: OperationKind, _ result: OperationResult, _ code: BackupError.Code?) {
        let (beganAt, began) = state.withLock { ($0.beganAt, $0.began) }
        var facts = OperationFacts()
        facts.error = code
        store.remember(
            OperationRecord(
                operation, startedAt: beganAt,
                durationMilliseconds: Int64((SystemClock.monotonicNanoseconds() - began) / 1_000_000), result: result,
                facts: facts))
    }
}
