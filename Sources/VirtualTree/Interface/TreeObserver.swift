import BackupCore

/// The side that serves the tree to the kernel. It is informed when data cached by
/// the kernel becomes stale. The calls come from any thread and return immediately.
public protocol TreeObserver: AnyObject, Sendable {
    /// The name in this folder refers to something else now, or to nothing.
    func nameChanged(_ name: FileName, in parent: InodeNumber)
    /// Size, times or modes have changed.
    func attributesChanged(_ inode: InodeNumber)
    /// Returns when the kernel has received all notifications so far, or after a second: the
    /// kernel does not accept notifications about a folder while a change is being made in it.
    func waitUntilTold()
    /// A node for which `TreeOperations.isPending` was true is no longer pending.
    func pendingEnded()
}
