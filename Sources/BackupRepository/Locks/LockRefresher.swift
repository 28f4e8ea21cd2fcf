import Dispatch
import Synchronization

/// Renews the notes of all locks that this process holds, every 30 seconds while there are any.
final class LockRefresher: Sendable {
    static let shared = LockRefresher()

    private struct State {
        /// By path.
        var notes: [String: any OwnLockNote] = [:]
        var isScheduled = false
    }

    private let state = Mutex(State())

    func add(_ note: any OwnLockNote) {
        let mustSchedule = state.withLock { state in
            state.notes[note.path] = note
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule() }
    }

    func remove(_ path: String) { state.withLock { _ = $0.notes.removeValue(forKey: path) } }

    /// Whether the note belongs to a lock that this process holds.
    func isRenewing(_ path: String) -> Bool { state.withLock { $0.notes[path] != nil } }

    private func schedule() {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(LockTimes.refreshSeconds))) { [self] in
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
        for note in state.withLock({ Array($0.notes.values) }) { try? note.renew() }
    }
}
