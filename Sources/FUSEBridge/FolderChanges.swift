import SystemIO

/// The number of requests that are currently creating or renaming something. The kernel keeps the folder locked meanwhile, which may take a whole backup, and a
/// notification about the folder would block in the kernel for that time.
final class FolderChanges: Sendable {
    private let count = Monitor(0)

    func begin() { count.withLock { $0 += 1 } }
    func end() { count.changeWakingAll { $0 -= 1 } }

    /// - Returns: whether none is in progress.
    func waitUntilNone(forNanoseconds limit: UInt64) -> Bool { count.wait(until: { $0 == 0 }, forNanoseconds: limit) }
}
