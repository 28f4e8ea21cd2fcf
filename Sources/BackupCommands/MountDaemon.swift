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
    private let isEnding = Mutex(false)

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
        if isAsked || !store.monitor.isRunning {
            isEnding.withLock { $0 = true }
            StallWatch.beginEnding()
        }
        scheduler.withLock { $0 }?.end()
    }

    /// When the mount has ended.
    func finishEnd() {
        let isEnding = isEnding.withLock { isEnding in
            defer { isEnding = false }
            return isEnding
        }
        if isEnding { StallWatch.finishEnding() }
    }

    /// A backup that `mkdir` has begun, and that was not finished when the store was unmounted, is brought to its end. Now signals cancel it, as in a
    /// command.
    func waitForBackups(of tree: VirtualTree) {
        guard tree.isMakingBackup else { return }
        CancellingSignals.enable()
        try? CancellingSignals.run { () throws(BackupError) in tree.waitForBackups() }
    }
}
