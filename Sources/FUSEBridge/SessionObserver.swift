import BackupCore
import VirtualTree

/// Passes what the tree tells on to those who need it.
final class SessionObserver: TreeObserver {
    /// `nil` where there was no thread for it: what the kernel believes then ends with its timeouts.
    private let notifier: KernelNotifier?
    private let loop: SessionLoop

    init(notifier: KernelNotifier?, loop: SessionLoop) {
        self.notifier = notifier
        self.loop = loop
    }

    func nameChanged(_ name: FileName, in parent: InodeNumber) { notifier?.nameChanged(name, in: parent) }
    func attributesChanged(_ inode: InodeNumber) { notifier?.attributesChanged(inode) }
    func waitUntilTold() { notifier?.waitUntilTold() }
    func pendingEnded() { loop.servePending() }
}
