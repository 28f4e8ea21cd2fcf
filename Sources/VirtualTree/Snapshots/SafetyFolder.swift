import BackupCore
import BackupRepository

/// `safety/`: the backups that restores of this store made before they changed anything.
final class SafetyFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        let newest = try context.ownSnapshots(.safety).last
        return context.folderAttributes(inode, time: newest?.creationTime ?? context.mountTime)
    }

    private func nodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        let snapshots = try context.ownSnapshots(.safety)
        let files = snapshots.map { context.services.safetyFile(of: $0) }
        let names = UniqueFileNames.make(files.map(\.name))
        return snapshots.indices.map { index in
            let snapshot = snapshots[index]
            let file = SnapshotFile(
                snapshot, files[index].isArchive ? .archive : .export, inode: inode.snapshot(snapshot.id), context: context)
            return (FileName(names[index]), file)
        }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if name.bytes.first == UInt8(ascii: ".") { throw .notFound(name) }
        guard let found = try nodes().first(where: { $0.name == name }) else { throw .notFound(name) }
        return found.node
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { SnapshotsFolder.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing { FolderListing(try nodes()) }
}
