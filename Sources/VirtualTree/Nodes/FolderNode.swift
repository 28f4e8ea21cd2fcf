import BackupCore

/// A folder of the tree. Operations that it does not allow fail with EROFS.
protocol FolderNode: Node {
    /// - Throws: `notFound`.
    func child(named name: FileName) throws(BackupError) -> any Node
    /// - Throws: the reason why the folder cannot be opened although it is listed.
    func requireOpenable() throws(BackupError)
    /// The current contents. A listing does not change while it is read.
    func listing() throws(BackupError) -> FolderListing
    /// Whether the listing never changes during the mount: the kernel may cache it.
    var isImmutable: Bool { get }
    /// How long the kernel may cache that a name does not exist, in seconds.
    func absenceTimeoutSeconds(of name: FileName) -> Double

    /// - Parameter isCancelled: whether the requesting program has stopped waiting; polled repeatedly.
    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node
    func removeDirectory(_ name: FileName) throws(BackupError)
    func createFile(_ name: FileName) throws(BackupError) -> any FileNode
    func removeFile(_ name: FileName) throws(BackupError)
    func rename(_ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool) throws(BackupError)
}

extension FolderNode {
    func requireOpenable() throws(BackupError) {}
    var isImmutable: Bool { false }
    func absenceTimeoutSeconds(of name: FileName) -> Double { 0 }

    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        throw .readOnlyHere
    }
    func removeDirectory(_ name: FileName) throws(BackupError) { throw .readOnlyHere }
    func createFile(_ name: FileName) throws(BackupError) -> any FileNode { throw .readOnlyHere }
    func removeFile(_ name: FileName) throws(BackupError) { throw .readOnlyHere }

    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        throw .readOnlyHere
    }
}
