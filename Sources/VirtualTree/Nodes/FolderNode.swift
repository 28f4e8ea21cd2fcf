import BackupCore

/// A folder of the tree. What a folder does not allow answers EROFS.
protocol FolderNode: Node {
    /// - Throws: `notFound`.
    func child(named name: FileName) throws(BackupError) -> any Node
    /// - Throws: why the folder cannot be opened, though it has a name.
    func requireOpenable() throws(BackupError)
    /// What is in it now; the listing stays as it is while it is read, whatever happens meanwhile.
    func listing() throws(BackupError) -> FolderListing
    /// Whether the listing stays the same while the store is mounted: the kernel may keep it.
    var isImmutable: Bool { get }
    /// For how long the kernel may believe that a name is not there, in seconds.
    func absenceTimeoutSeconds(of name: FileName) -> Double

    /// - Parameter isCancelled: whether the program that asked waits no longer. Asked again and again.
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
