import BackupCore
import FUSEBridge
import Operations
import Synchronization
import SystemIO
import VirtualTree

/// Work that a thread of its own repeats at intervals while a store is mounted. If no thread can be started, the work is left
/// out: the mount still serves.
final class RepeatedWork: Sendable {
    private let isEnding = Monitor(false)
    private let thread: SystemThread?

    init(everySeconds seconds: Double, _ work: @escaping @Sendable () -> Void) {
        let nanoseconds = UInt64(seconds * 1e9)
        thread = try? SystemThread { [isEnding] in
            while !isEnding.wait(until: { $0 }, forNanoseconds: nanoseconds) { work() }
        }
    }

    func end() {
        isEnding.changeWakingAll { $0 = true }
        thread?.join()
    }

    /// Makes the tree release unused views of the app's data.
    static func releasingViews(of tree: VirtualTree) -> RepeatedWork {
        // How long a view is kept after the last access.
        let idleSeconds = Environment.text("BACKUPFS_LIVE_SECONDS").flatMap { Double($0) } ?? 60
        return RepeatedWork(everySeconds: max(0.1, min(idleSeconds, 3_600) / 4)) {
            tree.letGoOfIdleViews(afterSeconds: idleSeconds)
        }
    }

    /// Writes the counts of requests into the store when they have changed, where `status` finds them, and follows the level of
    /// its log.
    static func recording(_ requests: RequestMonitor, of store: Store) -> RepeatedWork {
        let written = Mutex(RequestCounts())
        // A mount that was killed has left its own.
        try? FileSystem.removeFile(store.paths.requestRecord)
        requests.setTracing(store.log.tracesRequests)
        return RepeatedWork(everySeconds: 5) {
            requests.setTracing(store.log.tracesRequests)
            let counts = requests.counts
            // Without space they are missing, and the mount still serves.
            if written.withLock({ $0 != counts }), (try? counts.write(store.paths)) != nil { written.withLock { $0 = counts } }
        }
    }
}
