import SystemIO
import VirtualTree

/// Makes the tree release unused views at intervals.
final class IdleViews: Sendable {
    /// How long a rendering of the app's data is kept after the last access.
    private static let idleSeconds = Environment.text("BACKUPFS_LIVE_SECONDS").flatMap { Double($0) } ?? 60

    private let isEnding = Monitor(false)
    private let thread: SystemThread?

    init(of tree: VirtualTree) {
        let turnNanoseconds = UInt64(max(0.1, min(Self.idleSeconds, 3_600) / 4) * 1e9)
        // If no thread can be started, the views are kept: the mount still works.
        thread = try? SystemThread { [isEnding] in
            while !isEnding.wait(until: { $0 }, forNanoseconds: turnNanoseconds) {
                tree.letGoOfIdleViews(afterSeconds: Self.idleSeconds)
            }
        }
    }

    func end() {
        isEnding.changeWakingAll { $0 = true }
        thread?.join()
    }
}
