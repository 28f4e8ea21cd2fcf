import Dispatch
import Synchronization
import SystemIO

/// Renews the notes of all locks that this process holds, every 30 seconds while there are any.
final class LockRefresher: Sendable {
    static let shared = LockRefresher()

    private struct State {
        /// The notes' contents, by path.
        var notes: [String: [UInt8]] = [:]
        var isScheduled = false
    }

    private let state = Mutex(State())

    func add(_ path: String, _ bytes: [UInt8]) {
        let mustSchedule = state.withLock { state in
            state.notes[path] = bytes
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    func remove(_ path: String) { state.withLock { _ = $0.notes.removeValue(forKey: path) } }

    /// Whether the note belongs to a lock that this process holds.
    func isRenewing(_ path: String) -> Bool { state.withLock { $0.notes[path] != nil } }

    private func schedule() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(LockFolder.refreshSeconds))) { [self] in
            let isGoingOn = state.withLock { state in
                state.isScheduled = !state.notes.isEmpty
                return state.isScheduled
            }
            guard isGoingOn else { return }
            refresh()
            schedule()
        }
    }

    func refresh() {
        // A missing note is found when the lock is relied on (`requireHeld`).
        for (path, bytes) in state.withLock({ $0.notes }) { try? LockFolder.renew(path, bytes) }
    }
}
