import BackupCore
import FUSEBridge
import Glibc
import Operations
import Synchronization
import SystemIO
import VirtualTree

/// Background work in the process that serves a mount: scheduled backups, uploads to remotes, the exchange with other
/// devices, and reactions to signals.
final class MountDaemon: Sendable {
    private let store: Store
    private let isReadOnly: Bool
    private let scheduler = Mutex<BackupScheduler?>(nil)
    private let uploader = Mutex<RemoteUploader?>(nil)
    private let deviceSync = Mutex<DeviceSyncThread?>(nil)
    private let photoUploader = Mutex<PhotoUploader?>(nil)
    private let isEndWatched = Mutex(false)
    /// Reads the settings again. Started by the first SIGHUP.
    private let reloading = Mutex<WakeableThread?>(nil)

    /// - Parameter isReadOnly: whether nothing may be changed.
    init(store: Store, isReadOnly: Bool) {
        self.store = store
        self.isReadOnly = isReadOnly
        // The mount has its own signal handling.
        CancellingSignals.enable(false)
    }

    /// Call once the mount responds: due backups must not delay it.
    func begin() {
        guard !isReadOnly else { return }
        // If no thread can be started, the mount is still useful; the status reports that a backup is overdue.
        let started = try? BackupScheduler(store: store) { [self] result in
            MountComplaint.show(result.notices, of: result.snapshot)
            noteBackup()
        }
        scheduler.withLock { $0 = started }
        let uploader = try? RemoteUploader(store: store)
        self.uploader.withLock { $0 = uploader }
        let deviceSync = try? DeviceSyncThread(store: store)
        self.deviceSync.withLock { $0 = deviceSync }
        let photoUploader = try? PhotoUploader(store: store)
        self.photoUploader.withLock { $0 = photoUploader }
    }

    /// Has a new backup uploaded. Does not wait for that.
    func noteBackup() { uploader.withLock { $0 }?.noteBackup() }

    /// None of them waits for storage: the thread that runs them hears SIGTERM, too.
    ///
    /// SIGHUP reads the settings again, and SIGUSR1 cancels the running operation. In the foreground of a terminal, SIGHUP means
    /// that the terminal is gone.
    var reactions: [Int32: @Sendable () -> Void] {
        var reactions: [Int32: @Sendable () -> Void] = [SIGUSR1: { [store] in _ = store.monitor.cancel() }]
        if !Terminal.isInputTerminal {
            reactions[SIGHUP] = { [self] in reloadSettings() }
        }
        return reactions
    }

    /// Reads the settings on a thread of their own. While they are being read, further calls have them read once more.
    private func reloadSettings() {
        reloading.withLock { thread in
            if let thread { return thread.wake() }
            // If no thread can be started, the others read them within half a minute.
            thread = try? WakeableThread { [self] in
                { [self] _, _ in
                    applySettings()
                    return Self.reloadWaitNanoseconds
                }
            }
        }
    }

    /// Between two signals there is nothing to do.
    private static let reloadWaitNanoseconds: UInt64 = 86_400_000_000_000

    private func applySettings() {
        store.reloadSettings()
        scheduler.withLock { $0 }?.wake()
        uploader.withLock { $0 }?.wake()
        deviceSync.withLock { $0 }?.wake()
        photoUploader.withLock { $0 }?.wake()
    }

    /// Call when the mount is about to end: after a signal, the running operation ends first, with nothing left partly done.
    /// Storage that does not respond delays this only for a limited time, unless an operation is to be finished.
    func end(_ reason: MountSession.End?) {
        var isAsked = false
        if case .signal = reason { isAsked = true }
        if isAsked { store.monitor.cancel() }
        watchEnd(isAsked || !store.monitor.isRunning)
        reloading.withLock { $0 }?.end()
        scheduler.withLock { $0 }?.end()
        uploader.withLock { $0 }?.end()
        deviceSync.withLock { $0 }?.end()
        photoUploader.withLock { $0 }?.end()
    }

    /// Call for a signal that comes while the mount ends, as if it had ended for that signal.
    func hurry() {
        store.monitor.cancel()
        watchEnd(true)
    }

    /// Call when the mount has ended. Finishes a backup that `mkdir` or a request in `control/` began. From now on signals cancel
    /// it, as in a command. After that, storage that does not respond must not keep the process from ending.
    func waitForBackups(of tree: VirtualTree, _ controls: ControlHost) {
        if tree.isMakingBackup || controls.isRunning {
            watchEnd(false)
            CancellingSignals.enable()
            try? CancellingSignals.run { () throws(BackupError) in
                tree.waitForBackups()
                controls.wait()
            }
        }
        watchEnd(true)
    }

    /// - Parameter isWanted: whether storage that does not respond ends the process. Once set, only a backup to be finished
    ///   unsets it: the spool, the log and the record of the mount are on storage too.
    private func watchEnd(_ isWanted: Bool) {
        isEndWatched.withLock { isWatched in
            guard isWanted != isWatched else { return }
            isWatched = isWanted
            if isWanted { StallWatch.beginEnding() } else { StallWatch.finishEnding() }
        }
    }
}

/// The log entries of a mount: that it is mounted, has ended, or failed to mount.
final class MountLog: Sendable {
    private struct State {
        var beganAt = SystemClock.now()
        var began = SystemClock.monotonicNanoseconds()
        var isMounted = false
    }

    private let store: Store
    private let state = Mutex(State())

    init(store: Store) { self.store = store }

    /// The mount responds. The time mounted counts from here.
    func noteMount() {
        note(.mount, .ok, nil)
        state.withLock {
            $0 = State()
            $0.isMounted = true
        }
    }

    func noteEnd() { note(.unmount, .ok, nil) }

    func noteFailure(_ error: any Error) {
        let failure = error as? BackupError ?? BackupError(.inputOutput, .verbatim("\(error)"))
        note(
            state.withLock { $0.isMounted } ? .unmount : .mount,
            [.locked, .usage, .busy].contains(failure.code) ? .refused : .failed, failure)
    }

    private func note(_ operation: OperationKind, _ result: OperationResult, _ failure: BackupError?) {
        let (beganAt, began) = state.withLock { ($0.beganAt, $0.began) }
        var facts = OperationFacts()
        if let failure { facts.note(failure) }
        store.remember(
            OperationRecord(
                operation, startedAt: beganAt,
                durationMilliseconds: Int64((SystemClock.monotonicNanoseconds() - began) / 1_000_000), result: result,
                facts: facts))
    }
}
