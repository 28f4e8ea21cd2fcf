import BackupCore
import BackupRepository

/// `remotes/`: a folder for each place elsewhere that has a copy of the repository. Listing it needs no network.
final class RemotesFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let found = context.remotes.names.first(where: { FileName($0) == name }) else { throw .notFound(name) }
        return RemoteFolder(found, inode: inode.child(name), context: context)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing {
        FolderListing(
            context.remotes.names.map { name in
                let name = (text: name, file: FileName(name))
                return (name.file, RemoteFolder(name.text, inode: inode.child(name.file), context: context))
            })
    }
}

/// `remotes/NAME/`: what is in one remote, in two folders.
final class RemoteFolder: FolderNode {
    let inode: InodeNumber
    private let name: String
    private let context: TreeContext

    init(_ name: String, inode: InodeNumber, context: TreeContext) {
        self.name = name
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: context.mountTime)
        // The remote may be removed from the settings.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    private var sections: [(name: FileName, node: any Node)] {
        [RemoteSection.Kind.backups, .exports].map { kind in
            let name = FileName(kind.rawValue)
            return (name, RemoteSection(kind, of: self.name, inode: inode.child(name), context: context))
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let found = sections.first(where: { $0.name == name }) else { throw .notFound(name) }
        return found.node
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.immutableTimeoutSeconds }

    func listing() throws(BackupError) -> FolderListing { FolderListing(sections) }
}

/// `remotes/NAME/backups/` has a folder for each backup in the remote, as `snapshots/` has for those here;
/// `remotes/NAME/export_data/` has them as flat files, as `exports/` has. Nothing can be changed in them.
final class RemoteSection: FolderNode {
    /// By the folder's name.
    enum Kind: String {
        case backups
        case exports = "export_data"
    }

    let inode: InodeNumber
    private let kind: Kind
    private let remote: String
    private let context: TreeContext

    init(_ kind: Kind, of remote: String, inode: InodeNumber, context: TreeContext) {
        self.kind = kind
        self.remote = remote
        self.inode = inode
        self.context = context
    }

    var waitsForNetwork: Bool { true }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes { context.folderAttributes(inode, time: context.mountTime) }

    /// The repository of the remote, with its own part of the tree.
    private func remoteContext() throws(BackupError) -> TreeContext { try context.remotes.context(of: remote) }

    private func folder(of snapshot: Snapshot, _ context: TreeContext) -> SnapshotFolder {
        SnapshotFolder(snapshot, inode: inode.snapshot(snapshot.id), context: context)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        // File managers and shells probe for dozens of hidden names.
        if name.bytes.first == UInt8(ascii: ".") { throw .notFound(name) }
        let context = try remoteContext()
        switch kind {
        case .exports: return try FlatSnapshotsFolder(.snapshot, inode: inode, context: context).child(named: name)
        case .backups:
            guard let snapshot = try context.refreshedSnapshots(.snapshot).first(where: { $0.name == name }) else {
                throw .notFound(name)
            }
            return folder(of: snapshot, context)
        }
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing {
        let context = try remoteContext()
        switch kind {
        case .exports: return try FlatSnapshotsFolder(.snapshot, inode: inode, context: context).listing()
        case .backups:
            return FolderListing(try context.refreshedSnapshots(.snapshot).map { ($0.name, folder(of: $0, context)) })
        }
    }
}
