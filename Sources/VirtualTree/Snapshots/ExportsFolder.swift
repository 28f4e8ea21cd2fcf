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

    private func files() throws(BackupError) -> FlatFiles {
        context.exportFiles.value(for: try context.ownSnapshots(.snapshot)) { FlatFiles($0, context.services.exportFile) }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        try files().child(named: name, in: inode, context)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { SnapshotsFolder.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing { try files().listing(in: inode, context) }
}
