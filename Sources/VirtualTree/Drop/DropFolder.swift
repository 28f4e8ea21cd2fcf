import BackupCore

/// A folder that files are dropped into: the common part of `restore/` and `restore/preview/`.
protocol DropFolder: FolderNode {
    var context: TreeContext { get }
    var inbox: DropInbox { get }
    var purpose: DropSubmission.Purpose { get }
    /// Nodes besides the dropped files, by name.
    func fixedNodes() throws(BackupError) -> [(name: FileName, node: any Node)]
}

extension DropFolder {
    func attributes() throws(BackupError) -> NodeAttributes {
        context.folderAttributes(inode, time: context.mountTime)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if let file = inbox.file(named: name) { return file }
        guard let found = try fixedNodes().first(where: { $0.name == name }) else { throw .notFound(name) }
        return found.node
    }

    func listing() throws(BackupError) -> FolderListing {
        let dropped = inbox.sortedFiles.map { (name: $0.name, node: $0.file as any Node) }
        return FolderListing(try fixedNodes() + dropped)
    }

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode {
        guard name.isSafeComponent, !DropName.isTrash(name) else {
            throw BackupError(.notPermitted, "this name cannot be used here", path: name.description)
        }
        guard !DropName.isReserved(name, purpose: purpose) else { throw .readOnlyHere }
        if let existing = inbox.file(named: name) { return existing }
        let file = try DroppedFile(name: name, folder: inode, inbox: inbox, purpose: purpose, context: context)
        inbox.put(file, as: name)
        return file
    }

    func makeDirectory(_ name: FileName, unless isCancelled: () -> Bool) throws(BackupError) -> any Node {
        throw BackupError(.notPermitted, "folders cannot be restored; drop a single file", path: name.description)
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        guard let file = inbox.take(name) else {
            guard try fixedNodes().contains(where: { $0.name == name }) else { throw .notFound(name) }
            throw .readOnlyHere
        }
        file.discard()
    }

    /// A rename to a final name, or a move to a folder where the content has another purpose, submits the file. If it is rejected, it keeps its old name.
    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        guard let file = inbox.file(named: name) else {
            guard try fixedNodes().contains(where: { $0.name == name }) else { throw .notFound(name) }
            throw .readOnlyHere
        }
        guard let target = newParent as? any DropFolder else { throw .readOnlyHere }
        guard newName.isSafeComponent, !DropName.isTrash(newName) else {
            throw BackupError(.notPermitted, "this name cannot be used here", path: newName.description)
        }
        guard !DropName.isReserved(newName, purpose: target.purpose) else { throw .readOnlyHere }
        if !mayReplace, target.inbox.file(named: newName) != nil {
            throw BackupError(.alreadyExists, "there is a file of that name already", path: newName.description)
        }
        try file.rename(to: newName, in: target.inbox, purpose: target.purpose)
        if inbox.file(named: name) === file { _ = inbox.take(name) }
        target.inbox.put(file, as: newName)
    }
}
