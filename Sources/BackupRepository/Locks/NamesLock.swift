import BackupCore
import Glibc
import SystemIO

/// The lock on the names and labels of snapshots. It is held for moments, so that waiting for it pays. It works between processes of this machine, and by its
/// note between hosts: otherwise two of them could write the same label and lose a pin.
struct NamesLock: ~Copyable {
    /// The locked file.
    static let name = "names.lock"
    /// Longer than it takes for a note to become stale.
    private static let waitSeconds = UInt64(LockFolder.namesExpirySeconds) + 20
    /// Doubled with each attempt, with a random part: two hosts that collide would otherwise go on colliding.
    private static let shortestPauseMicroseconds: UInt32 = 5_000
    private static let longestPauseMicroseconds: UInt32 = 250_000

    private let lock: RepositoryLock

    /// Waits a good minute.
    /// - Throws: `busy` when the lock is still held then.
    init(_ layout: RepositoryLayout) throws(BackupError) {
        let start = SystemClock.monotonicNanoseconds()
        var pause = Self.shortestPauseMicroseconds
        while true {
            do {
                lock = try RepositoryLock(layout, .naming, operation: "rename")
                return
            } catch {
                guard error.code == .busy else { throw error }
                if SystemClock.monotonicNanoseconds() - start > Self.waitSeconds * 1_000_000_000 { throw error }
            }
            usleep(UInt32.random(in: pause / 2...pause))
            pause = min(pause * 2, Self.longestPauseMicroseconds)
            try Cancellation.check()
        }
    }

    /// - Throws: `locked` when another host has considered this one gone.
    borrowing func requireHeld() throws(BackupError) { try lock.requireHeld() }
}
