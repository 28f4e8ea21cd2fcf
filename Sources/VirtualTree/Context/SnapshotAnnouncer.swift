import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO

/// Compares the list of snapshots with the previous one, and notifies the observer of what is stale in the kernel's cache. Names
/// are not taken back: that waits in the kernel for programs in their folder. They expire.
final class SnapshotAnnouncer: Sendable {
    private struct State: Sendable {
        var list: [Snapshot] = []
        var names: [FileName: SnapshotID] = [:]
        /// How often the list has changed.
        var generation: UInt64 = 0
        var hasBegun = false
        /// Until then, the kernel may keep names that are gone: on the monotonic clock.
        var namesKeptUntilNanoseconds: UInt64 = 0
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
        state.withLock { state in
            guard !state.hasBegun || !state.list.sharesStorage(with: snapshots) else { return }
            state.list = snapshots
            var names: [FileName: SnapshotID] = [:]
            for snapshot in snapshots { names[snapshot.name] = snapshot.id }
            guard names != state.names || !state.hasBegun else { return }
            // Before the first access the kernel cannot have cached anything.
            if state.hasBegun, let observer = state.observer {
                if state.names.contains(where: { names[$0.key] != $0.value }) { state.namesKeptUntilNanoseconds = Self.expiry }
                for name in ["snapshots", "exports", "safety"] as [FileName] { observer.attributesChanged(root.child(name)) }
            }
            state.names = names
            state.generation += 1
            state.hasBegun = true
        }
    }

    /// When names expire that the kernel has just looked up.
    private static var expiry: UInt64 {
        // The kernel counts in steps of up to 10 ms.
        SystemClock.monotonicNanoseconds() + UInt64(TreeContext.snapshotTimeoutSeconds * 1e9) + 20_000_000
    }

    /// - Returns: the generation of a list that the kernel knows, at least.
    func settledGeneration() -> UInt64 {
        let (generation, observer, expiry) = state.withLock { ($0.generation, $0.observer, $0.namesKeptUntilNanoseconds) }
        observer?.waitUntilNotified()
        let now = SystemClock.monotonicNanoseconds()
        if expiry > now { usleep(UInt32((expiry - now) / 1000)) }
        return generation
    }
}
