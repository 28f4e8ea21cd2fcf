import BackupCore
import BackupRepository

/// `snapshots/`: `mkdir` backs up, `rmdir` deletes, `rename` relabels. It shows all backups of the repository; `latest` is the newest that this
/// store made.
final class SnapshotsFolder: FolderNode {
    static let latestName: FileName = "latest"

    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        let newest = try snapshots().last
        return context.folderAttributes(inode, time: newest?.creationTime ?? context.mountTime)
    }

    /// Those of other processes are seen at once as well.
    private func snapshots() throws(BackupError) -> [Snapshot] { try context.refreshedSnapshots(.snapshot) }

    /// Reading it waits until the kernel knows all that was done to the repository so far.
    private static let generationName = "user.backupfs.generation"

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        _ = try snapshots()
        return [(Self.generationName, String(context.announcer.settledGeneration()))]
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { Self.hiddenNameTimeoutSeconds(name) }

    /// Hidden names are probes of file managers and shells: there are none in folders of backups and there never will be.
    static func hiddenNameTimeoutSeconds(_ name: FileName) -> Double {
        name.bytes.first == UInt8(ascii: ".") ? TreeContext.immutableTimeoutSeconds : 0
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        // File managers and shells probe for dozens of hidden names; none of them can be a snapshot.
        if name.bytes.first == UInt8(ascii: ".") { throw .notFound(name) }
        if name == Self.latestName {
            guard let newest = try context.latestSnapshot() else { throw .notFound(name) }
            return LatestLink(inode: inode.child(name), target: newest, context: context)
        }
        _ = try context.refreshedSnapshots()
        guard let snapshot = context.repository.snapshot(named: name), snapshot.kind == .snapshot else { throw .notFound(name) }
        return SnapshotFolder(snapshot, inode: inode.snapshot(snapshot.id), context: context)
    }

    func listing() throws(BackupError) -> FolderListing {
        let snapshots = try snapshots()
        var nodes: [(name: FileName, node: any Node)] = snapshots.map {
            ($0.name, SnapshotFolder($0, inode: inode.snapshot($0.id), context: context))
        }
        if context.services.isNewestKnown, let newest = context.services.own(snapshots).last {
            let link = LatestLink(inode: inode.child(Self.latestName), target: newest, context: context)
            nodes.append((Self.latestName, link))
        }
        return FolderListing(nodes)
    }

    func makeDirectory(_ name: FileName) throws(BackupError) -> any Node {
        let label = try Self.label(name)
        // The kernel has the folder locked from before the first look at it.
        try context.announcer.holdingBack { () throws(BackupError) in
            if try snapshots().contains(where: { $0.name == name }) {
                throw BackupError(
                    .alreadyExists, "there is a backup of that name already", path: label, remedy: "Choose another name.")
            }
            try context.services.createSnapshot(named: label)
        }
        return try child(named: name)
    }

    func removeDirectory(_ name: FileName) throws(BackupError) {
        let snapshot = try snapshot(name)
        // Programs that clear folders out (`find -delete`) go on to rmdir after every error.
        guard !snapshot.isPinned else {
            throw BackupError(
                .notPermitted, "the backup is pinned", path: name.description,
                remedy: "Unpin it first: setfattr -x user.backupfs.pinned, or backupfs unpin.")
        }
        try context.services.removeSnapshot(snapshot)
    }

    func removeFile(_ name: FileName) throws(BackupError) {
        if name == Self.latestName { throw .readOnlyHere }
        _ = try snapshot(name)
        throw BackupError(.isADirectory, "a backup is a folder", path: name.description, remedy: "Use rmdir to delete a backup.")
    }

    func createFile(_ name: FileName) throws(BackupError) -> any FileNode {
        throw BackupError(
            .notPermitted, "only folders can be made here", path: name.description,
            remedy: "Make a folder to back up; copy files into restore/ to restore.")
    }

    func rename(
        _ name: FileName, to newName: FileName, in newParent: any FolderNode, mayReplace: Bool
    ) throws(BackupError) {
        guard newParent.inode == inode else {
            throw BackupError(.crossDevice, "a backup stays in snapshots/", path: name.description)
        }
        let snapshot = try snapshot(name)
        _ = try Self.label(newName)
        if newName == snapshot.name { return }
        if try snapshots().contains(where: { $0.name == newName }) {
            throw BackupError(
                .alreadyExists, "there is a backup of that name already", path: newName.description,
                remedy: "Choose another name.")
        }
        try context.services.renameSnapshot(snapshot, to: newName)
    }

    private func snapshot(_ name: FileName) throws(BackupError) -> Snapshot {
        if name == Self.latestName {
            throw BackupError(.notADirectory, "latest is a link to the newest backup", path: "latest")
        }
        guard let snapshot = try snapshots().first(where: { $0.name == name }) else { throw .notFound(name) }
        return snapshot
    }

    private static func label(_ name: FileName) throws(BackupError) -> String {
        guard name != latestName else {
            throw BackupError(.alreadyExists, "latest always names the newest backup", path: "latest")
        }
        guard name.isSnapshotName else {
            throw BackupError(
                .notPermitted, "this cannot be the name of a backup", path: name.description,
                remedy: "Use a name that does not start with a dot and has no control characters.")
        }
        return name.description
    }
}
