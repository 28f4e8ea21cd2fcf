import BackupCore
import FUSEBridge
import Glibc
import Operations
import Synchronization
import SystemIO
import VirtualTree

/// What goes on beside the mount, in the process that serves it: backups by the schedule, and reactions to signals.
final class MountDaemon: Sendable {
    private let store: Store
    private let isReadOnly: Bool
    private let scheduler = Mutex<BackupScheduler?>(nil)
    private let isEndWatched = Mutex(false)

    /// - Parameter isReadOnly: whether nothing is to be changed.
    init(store: Store, isReadOnly: Bool) {
        self.store = store
        self.isReadOnly = isReadOnly
        // The mount has its own.
        CancellingSignals.enable(false)
    }

    /// Once the mount answers: what is due must keep nobody waiting.
    func begin() {
        guard !isReadOnly else { return }
        // Without a thread to spare the mount is of more use than none; the status tells that a backup is overdue.
        let started = try? BackupScheduler(store: store) { MountComplaint.show($0.notices, of: $0.snapshot) }
        scheduler.withLock { $0 = started }
    }

    /// SIGHUP reads the settings anew, and SIGUSR1 cancels what runs. In the foreground of a terminal, SIGHUP says that the terminal has gone.
    var reactions: [Int32: () -> Void] {
        var reactions: [Int32: () -> Void] = [SIGUSR1: { [store] in _ = store.monitor.cancel() }]
        if !Terminal.isInputTerminal {
            reactions[SIGHUP] = { [self] in
                store.reloadSettings()
                scheduler.withLock { $0 }?.wake()
            }
        }
        return reactions
    }

    /// When the mount is about to end: after a signal, whatever runs ends first, with nothing half done. Storage that does not answer keeps it for a while
    /// only, unless an operation is to be finished.
    func end(_ reason: MountSession.End?) {
        var isAsked = false
        if case .signal = reason { isAsked = true }
        if isAsked { store.monitor.cancel() }
        watchEnd(isAsked || !store.monitor.isRunning)
        scheduler.withLock { $0 }?.end()
    }

    /// When the mount has ended. A backup that `mkdir` has begun, and that was not finished then, is brought to its end. From now on signals cancel it, as in
    /// a command. What the process does after it must not be kept by storage that does not answer.
    func waitForBackups(of tree: VirtualTree) {
        if tree.isMakingBackup {
            watchEnd(false)
            CancellingSignals.enable()
            try? CancellingSignals.run { () throws(BackupError) in tree.waitForBackups() }
        }
        watchEnd(true)
    }

    /// - Parameter isWanted: whether storage that does not answer ends the process. Once it is, nothing asks for the opposite but a backup to be finished:
    ///   the spool, the log and the record of the mount lie on storage, too.
    private func watchEnd(_ isWanted: Bool) {
        isEndWatched.withLock { isWatched in
            guard isWanted != isWatched else { return }
            isWatched = isWanted
            if isWanted { StallWatch.beginEnding() } else { StallWatch.finishEnding() }
        }
    }
}
