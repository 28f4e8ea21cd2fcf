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

    private func files() throws(BackupError) -> FlatFiles {
        context.safetyFiles.value(for: try context.ownSnapshots(.safety)) { FlatFiles($0, context.services.safetyFile) }
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        try files().child(named: name, in: inode, context)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { SnapshotsFolder.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing { try files().listing(in: inode, context) }
}
