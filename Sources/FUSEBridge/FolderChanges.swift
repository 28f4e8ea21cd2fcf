import SystemIO

/// How many requests are making or renaming something just now. The kernel keeps the folder locked for as long as that takes, which may be a whole
/// backup, and news of the folder would be stuck in the kernel for as long.
final class FolderChanges: Sendable {
    private let count = Monitor(0)

    func begin() { count.withLock { $0 += 1 } }
    func end() { count.changeWakingAll { $0 -= 1 } }

    /// - Returns: whether none is under way.
    func waitUntilNone(forNanoseconds limit: UInt64) -> Bool { count.wait(until: { $0 == 0 }, forNanoseconds: limit) }
}
