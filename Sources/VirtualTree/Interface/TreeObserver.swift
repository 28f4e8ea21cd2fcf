import BackupCore

/// Whoever serves the tree to the kernel, to be told when the kernel believes what is no longer true. The calls come from any thread and
/// return at once.
public protocol TreeObserver: AnyObject, Sendable {
    /// The name stands for something else in this folder, or for nothing any more.
    func nameChanged(_ name: FileName, in parent: InodeNumber)
    /// Size, times or modes are others.
    func attributesChanged(_ inode: InodeNumber)
    /// Returns when the kernel knows what was told so far, or after a second: the kernel takes no news of a folder in which somebody is just
    /// making something.
    func waitUntilTold()
    /// A node for which `TreeOperations.isPending` was true is pending no longer.
    func pendingEnded()
}
