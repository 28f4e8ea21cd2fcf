import Dispatch
import Synchronization
import SystemIO

/// Renews the notes of all locks that this process holds, every half a minute, while there are any.
final class LockRefresher: Sendable {
    static let shared = LockRefresher()

    private struct State {
        var paths: Set<String> = []
        var isScheduled = false
    }

    private let state = Mutex(State())

    func add(_ path: String) {
        let mustSchedule = state.withLock { state in
            state.paths.insert(path)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    func remove(_ path: String) { state.withLock { _ = $0.paths.remove(path) } }

    private func schedule() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(LockFolder.refreshSeconds))) { [self] in
            let isGoingOn = state.withLock { state in
                state.isScheduled = !state.paths.isEmpty
                return state.isScheduled
            }
            guard isGoingOn else { return }
            refresh()
            schedule()
        }
    }

    func refresh() {
        // A note that is gone is found by whoever relies on it (`requireHeld`).
        for path in state.withLock({ $0.paths }) { try? FileSystem.touch(path) }
    }
}
