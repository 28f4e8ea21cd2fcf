import BackupCore
import FUSEBridge
import Formats
import Glibc
import Operations
import SystemIO

/// The record of where a store is mounted: one mount at a time, since the drop folder and the spool belong to it.
enum MountRecord {
    /// Held while the store is mounted. Waits for a mount that is just ending (umount(8) returns before the process that served
    /// it has ended).
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

    static func remove(_ paths: StorePaths) {
        for path in [paths.mountRecord, paths.requestRecord] { try? FileSystem.removeFile(path) }
    }

    static func document(mountpoint: String, store: String) -> OrderedJSON {
        ["message_type": "mounted", "mountpoint": mountpoint, "store": store]
    }
}

/// Waits after an unmount until the process that served the mount has ended, and with it the backups that `mkdir` began.
struct UnmountWait {
    /// As far as known before the unmount.
    let server: MountServer?
    /// The served store, if known.
    let storePath: String?

    private static let stepMilliseconds: Int32 = 50
    private static let noticeMilliseconds: Int64 = 1_000
    /// How long a process without unfinished work may take to end.
    private static let endingMilliseconds: Int64 = 10_000

    /// - Returns: whether it has ended; if not, standard error has the reason for not waiting.
    func wait() -> Bool {
        if server?.isDead == true { return true }
        if let server, server.isWaitable, let mark = server.process {
            let process = AwaitedProcess(mark)
            let notice: Message = "It is unmounted. Waiting until process \(mark.process), which served it, has ended."
            return wait(notice) { process.hasEnded(withinMilliseconds: $0) }
        }
        // It runs in another container, or did not respond. It holds the store's lock until it ends, if the lock is visible from
        // here.
        if let paths = storePath.map({ StorePaths(root: $0) }), (try? paths.requireTrustedStore()) != nil,
            (try? AdvisoryLock.isHeld(path: paths.mountLock)) == true
        {
            return wait("It is unmounted. Waiting until the process that served it has ended.") { milliseconds in
                usleep(UInt32(milliseconds) * 1_000)
                return (try? AdvisoryLock.isHeld(path: paths.mountLock)) == false
            }
        }
        return givenUp(
            "It is unmounted. Whether the process that served it has ended cannot be seen from here: a backup that was begun there may still be running. Wait for it before you take its disk away."
        )
    }

    /// - Parameters:
    ///   - notice: shown after a while, if the running operation is unknown.
    ///   - hasEnded: waits for at most this many milliseconds.
    private func wait(_ notice: Message, _ hasEnded: (Int32) -> Bool) -> Bool {
        let started = SystemClock.monotonicNanoseconds()
        var isTold = false
        var looked: Int64 = 0
        while !hasEnded(Self.stepMilliseconds) {
            let waited = Int64((SystemClock.monotonicNanoseconds() - started) / 1_000_000)
            if waited >= Self.noticeMilliseconds, !isTold {
                isTold = true
                Terminal.writeError(operation.map { "It is unmounted, and finishes what runs: \($0.text)" } ?? notice)
            }
            guard waited / Self.endingMilliseconds > looked else { continue }
            looked = waited / Self.endingMilliseconds
            // A process that finishes its work ends by itself; one that is still mounted elsewhere does not.
            guard operation == nil, server?.livesOn != false else { continue }
            return givenUp(
                "It is unmounted here, and not waited for any longer: the process that served it goes on, since files in it are open, or it is mounted in a container or another mount namespace. Until it has ended, do not take its disk away."
            )
        }
        return true
    }

    /// The operation on the store; `nil` also for another user's store, whose files are not trusted.
    private var operation: RunningOperation? { storePath.flatMap { try? RunningOperation.of(storeAt: $0) } }

    private func givenUp(_ message: Message) -> Bool {
        Terminal.writeError(message)
        return false
    }
}
