import BackupCore
import BackupRepository
import Synchronization

/// Compares the list of snapshots with the previous one, and notifies the observer of names that are stale in the kernel's cache.
final class SnapshotAnnouncer: Sendable {
    private struct State: Sendable {
        var list: [Snapshot] = []
        var names: [FileName: SnapshotID] = [:]
        /// How often the list has changed.
        var generation: UInt64 = 0
        var hasBegun = false
        /// The number of changes in progress in `snapshots/`.
        var heldBackCount = 0
        var observer: (any TreeObserver)?
    }

    private let state = Mutex(State())

    func setObserver(_ observer: (any TreeObserver)?) { state.withLock { $0.observer = observer } }

    /// An unfinished backup has ended.
    func pendingEnded() { state.withLock { $0.observer }?.pendingEnded() }

    /// `latest` is another link now. Unlike a name, this can be announced at any time: no folder needs to be unlocked for it.
    func linkReplaced(_ inode: InodeNumber) { state.withLock { $0.observer }?.linkReplaced(inode) }

    /// Whether there is an observer that passes that on.
    var notifiesOfLinks: Bool { state.withLock { $0.observer }?.notifiesOfLinks ?? false }

    /// Returns when the kernel keeps none of the links replaced so far, or after a second.
    func waitUntilLinksNotified() { state.withLock { $0.observer }?.waitUntilLinksNotified() }

    /// - Parameter snapshots: all current snapshots.
    func announce(_ snapshots: [Snapshot]) {
        let root = InodeNumber.root
        let folder = root.child("snapshots")
        state.withLock { state in
            guard state.heldBackCount == 0, !state.hasBegun || !state.list.sharesStorage(with: snapshots) else { return }
            state.list = snapshots
            var names: [FileName: SnapshotID] = [:]
            for snapshot in snapshots { names[snapshot.name] = snapshot.id }
            guard names != state.names || !state.hasBegun else { return }
            // Before the first access the kernel cannot have cached anything.
            if state.hasBegun, let observer = state.observer {
                for (name, id) in state.names where names[name] != id { observer.nameChanged(name, in: folder) }
                for name in ["snapshots", "exports", "safety"] as [FileName] { observer.attributesChanged(root.child(name)) }
            }
            state.names = names
            state.generation += 1
            state.hasBegun = true
        }
    }

    /// Sends no notifications while `body` runs, which may take minutes: the kernel keeps a folder locked while something is
    /// created in it. A notification about the folder would block for that time, even if this program were killed.
    func holdingBack<Result>(_ body: () throws(BackupError) -> Result) throws(BackupError) -> Result {
        state.withLock { $0.heldBackCount += 1 }
        defer { state.withLock { $0.heldBackCount -= 1 } }
        return try body()
    }

    /// - Returns: the generation of a list that the kernel knows, at least.
    func settledGeneration() -> UInt64 {
        let (generation, observer) = state.withLock { ($0.generation, $0.observer) }
        observer?.waitUntilNotified()
        return generation
    }
}
