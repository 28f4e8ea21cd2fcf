import BackupCore
import Export
import FUSEBridge
import Glibc
import Operations
import SystemIO

/// The record of where a store is mounted: one mount at a time, since the drop folder and the spool belong to it.
enum MountRecord {
    /// Held while the store is mounted. Waits for a mount that is just ending (umount(8) returns before the process that served it has ended).
    /// - Throws: `locked`, with the mountpoint.
    static func lock(_ paths: StorePaths) throws(BackupError) -> AdvisoryLock {
        var waitedMilliseconds = 0
        while true {
            do {
                return try AdvisoryLock(path: paths.mountLock)
            } catch let error where error.code == .busy {
                guard waitedMilliseconds < endingTimeoutMilliseconds, !isMounted(paths) else { throw mounted(paths) }
                usleep(10_000)
                waitedMilliseconds += 10
            }
        }
    }

    private static let endingTimeoutMilliseconds = 10_000

    /// Whether the recorded mountpoint is mounted: the record exists until the process ends, the mount is gone before that.
    private static func isMounted(_ paths: StorePaths) -> Bool {
        guard let bytes = try? FileSystem.readFile(paths.mountRecord, limitBytes: 1 << 16),
            let table = try? MountTable.current()
        else { return false }
        return table.entry(at: String(decoding: bytes, as: UTF8.self)) != nil
    }

    static func requireUnmounted(_ paths: StorePaths) throws(BackupError) { _ = try lock(paths) }

    private static func mounted(_ paths: StorePaths) -> BackupError {
        guard isMounted(paths) else {
            if let operation = try? RunningOperation.of(storeAt: paths.root) {
                return BackupError(
                    .locked, "the store has been unmounted, and the process that served it finishes what runs: \(operation.text)",
                    path: paths.root, remedy: "Wait until it has ended, or end it with: backupfs cancel")
            }
            return BackupError(
                .locked, "an earlier mount of the store has been unmounted, but the process that serves it has not ended",
                path: paths.root,
                remedy: """
                    Something still uses it, perhaps in a container or another mount namespace; end that, or the process \
                    itself with SIGTERM.
                    """)
        }
        return BackupError(
            .locked, mountpoint(paths).map { "the store is mounted already on \($0)" } ?? "the store is mounted already",
            path: paths.root,
            remedy: "Use that mount, or unmount it first with: backupfs umount")
    }

    /// Where the store is mounted now; `nil` when it is not.
    static func mountpoint(_ paths: StorePaths) -> String? {
        guard (try? AdvisoryLock.isHeld(path: paths.mountLock)) != false else { return nil }
        guard let bytes = try? FileSystem.readFile(paths.mountRecord, limitBytes: 1 << 16) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits until the store's mount, if any, shows changes made outside it.
    static func letMountNotice(_ paths: StorePaths) {
        guard let mountpoint = mountpoint(paths) else { return }
        _ = FileSystem.extendedAttribute("user.backupfs.generation", of: "\(mountpoint)/snapshots")
    }

    static func write(_ paths: StorePaths, mountpoint: String) throws(BackupError) {
        try FileSystem.writeForReaders(paths.mountRecord, Array(mountpoint.utf8))
    }

    static func remove(_ paths: StorePaths) { try? FileSystem.removeFile(paths.mountRecord) }

    static func document(mountpoint: String, store: String) -> OrderedJSON {
        .members(["message_type": .text("mounted"), "mountpoint": .text(mountpoint), "store": .text(store)])
    }
}
