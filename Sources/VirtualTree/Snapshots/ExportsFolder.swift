import BackupCore
import BackupRepository

/// `exports/`: each snapshot of this store as one flat file under the app's own file name.
final class ExportsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        // From the record alone: the files of a damaged backup must not hide this folder.
        let newest = try context.ownSnapshots(.snapshot).last
        return context.folderAttributes(inode, time: newest?.creationTime ?? context.mountTime)
    }

    private func nodes() throws(BackupError) -> [(name: FileName, node: any Node)] {
        let snapshots = try context.ownSnapshots(.snapshot)
        let files = snapshots.map { context.services.exportFile(of: $0) }
        let names = UniqueFileNames.make(files.map(\.name))
        return snapshots.indices.map { index in
            let snapshot = snapshots[index]
            let name = names[index]
            let file = SnapshotFile(
                snapshot, files[index].isArchive ? .archive : .export, inode: inode.snapshot(snapshot.id), context: context)
            return (FileName(name), file)
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
