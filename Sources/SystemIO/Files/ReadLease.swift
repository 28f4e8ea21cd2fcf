import BackupCore
import CLinux
import Glibc

/// Keeps other programs from writing to a file for its lifetime (fcntl(2), `F_SETLEASE`). The kernel grants it only while no
/// descriptor and no mapping of any program can write to the file. A program that opens it for writing then waits, at most as
/// long as `/proc/sys/fs/lease-break-time` says; after that the lease is gone.
public final class ReadLease {
    private let file: SharedFile

    /// Without this, the kernel's message that a program waits would end the process.
    private static let ignoringMessages: Void = { signal(SIGIO, SIG_IGN) }()

    /// - Returns: `nil` when a program may write to the file, for a file of another user, and where there are no leases.
    public init?(_ file: SharedFile) {
        Self.ignoringMessages
        guard SystemCall.retrying({ backupfs_take_read_lease(file.rawDescriptor) }) == 0 else { return nil }
        self.file = file
    }

    /// Whether no program has written to the file, or waits to do so, since the lease began.
    public var isHeld: Bool { backupfs_has_read_lease(file.rawDescriptor) == 1 }

    /// Waits until no later change of a file can have this change time: the kernel's clock, which ticks a few hundred times a
    /// second, has moved on. On a file system with whole seconds (ext with small inodes), that takes up to a second.
    /// - Returns: false when that takes longer: the time is in the future.
    public static func waitForTick(after time: Timestamp) -> Bool {
        let isWhole = time.nanoseconds == 0
        for _ in 0..<(isWhole ? 600 : 50) {
            var value = timespec()
            clock_gettime(CLOCK_REALTIME_COARSE, &value)
            let now = Timestamp(value)
            if isWhole ? now.seconds > time.seconds : now > time { return true }
            // The clock was set back since: each file would take the whole time.
            if time.secondsSince(now) > 2 { return false }
            usleep(2_000)
        }
        return false
    }

    deinit { _ = backupfs_give_lease_back(file.rawDescriptor) }
}
