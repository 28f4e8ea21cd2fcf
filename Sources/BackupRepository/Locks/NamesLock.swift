import BackupCore
import Glibc
import SystemIO

/// The lock on the names and labels of snapshots, which is held for moments, so that it pays to wait for it: between processes of this machine, and
/// by its note between hosts, of which two would otherwise write one label and lose a pin.
struct NamesLock: ~Copyable {
    /// The file that is locked.
    static let name = "names.lock"
    /// Longer than a note counts whose holder is gone.
    private static let waitSeconds = UInt64(LockFolder.namesExpirySeconds) + 20
    /// Doubled with each attempt. A part of it is left to chance: two hosts that see each other at once would go on to do so.
    private static let shortestPauseMicroseconds: UInt32 = 5_000
    private static let longestPauseMicroseconds: UInt32 = 250_000

    private let lock: RepositoryLock

    /// Waits a good minute.
    /// - Throws: `busy` when it is still taken then.
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

    /// - Throws: `locked` when another host has taken this one for gone.
    borrowing func requireHeld() throws(BackupError) { try lock.requireHeld() }
}
