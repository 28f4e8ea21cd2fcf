import BackupCore
import VirtualTree

/// Forwards the tree's notifications.
final class SessionObserver: TreeObserver {
    /// `nil` if its thread could not be started: the kernel's caches then only expire by their timeouts.
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
