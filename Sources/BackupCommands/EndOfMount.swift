import BackupCore
import FUSEBridge
import Glibc
import Operations
import SystemIO

/// Waits after an unmount until the process that served the mount has ended, and with it the backups that `mkdir` began.
struct EndOfMount {
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
        // It runs in another container, or did not respond. It holds the store's lock until it ends, if the lock is visible from here.
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
                Terminal.complain(operation.map { "It is unmounted, and finishes what runs: \($0.text)" } ?? notice)
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
        Terminal.complain(message)
        return false
    }
}
