import BackupCore
import BackupRepository

/// `exports/`: each snapshot of this store as one flat file with the app's own file name.
final class ExportsFolder: FolderNode {
    let inode: InodeNumber
    private let context: TreeContext

    init(inode: InodeNumber, context: TreeContext) {
        self.inode = inode
        self.context = context
    }

    var looksAtTheRepository: Bool { true }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        // From the records alone: neither damaged files of a backup nor an unavailable repository may hide this folder.
        context.folderAttributes(inode, time: context.newestTime(.snapshot, ofOwn: true))
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
