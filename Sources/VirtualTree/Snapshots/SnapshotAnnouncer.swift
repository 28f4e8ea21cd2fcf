import BackupCore
import BackupRepository
import Synchronization

/// Compares the list of snapshots with the one before, and tells the observer which names the kernel should not believe any more.
final class SnapshotAnnouncer: Sendable {
    private struct State: Sendable {
        var list: [Snapshot] = []
        var names: [FileName: SnapshotID] = [:]
        /// How often the list was another one.
        var generation: UInt64 = 0
        var hasBegun = false
        /// Somebody is making something in `snapshots/` right now.
        var heldBackCount = 0
        var observer: (any TreeObserver)?
    }

    private let state = Mutex(State())

    func setObserver(_ observer: (any TreeObserver)?) { state.withLock { $0.observer = observer } }

    /// A backup that was not finished has ended.
    func pendingEnded() { state.withLock { $0.observer }?.pendingEnded() }

    /// - Parameter snapshots: all that there are now.
    func announce(_ snapshots: [Snapshot]) {
        let root = InodeNumber.root
        let folder = root.child("snapshots")
        state.withLock { state in
            guard state.heldBackCount == 0, !state.hasBegun || !state.list.sharesStorage(with: snapshots) else { return }
            state.list = snapshots
            var names: [FileName: SnapshotID] = [:]
            for snapshot in snapshots { names[snapshot.name] = snapshot.id }
            guard names != state.names || !state.hasBegun else { return }
            // Before the first look the kernel cannot know anything.
            if state.hasBegun, let observer = state.observer {
                for (name, id) in state.names where names[name] != id { observer.nameChanged(name, in: folder) }
                for name in ["snapshots", "exports", "safety"] as [FileName] { observer.attributesChanged(root.child(name)) }
            }
            state.names = names
            state.generation += 1
            state.hasBegun = true
        }
    }

    /// Tells nothing while `body` runs, which may take minutes: the kernel keeps a folder locked in which something is being made, and
    /// whoever told it of the folder then would be stuck for as long, also if this program were killed.
    func holdingBack<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        state.withLock { $0.heldBackCount += 1 }
        defer { state.withLock { $0.heldBackCount -= 1 } }
        return try body()
    }

    /// - Returns: the number of the list that the kernel knows of, at least.
    func settledGeneration() -> UInt64 {
        let (generation, observer) = state.withLock { ($0.generation, $0.observer) }
        observer?.waitUntilTold()
        return generation
    }
}
