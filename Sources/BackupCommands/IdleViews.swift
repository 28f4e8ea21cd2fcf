import SystemIO
import VirtualTree

/// Has the tree let go, from time to time, of what nothing looks at any more.
final class IdleViews: Sendable {
    /// How long a rendering of the app's data stays after the last look.
    private static let idleSeconds = Environment.text("BACKUPFS_LIVE_SECONDS").flatMap { Double($0) } ?? 60

    private let isEnding = Monitor(false)
    private let thread: SystemThread?

    init(of tree: VirtualTree) {
        let turnNanoseconds = UInt64(max(0.1, min(Self.idleSeconds, 3_600) / 4) * 1e9)
        // Without a thread to spare the views stay: the mount is of use all the same.
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
