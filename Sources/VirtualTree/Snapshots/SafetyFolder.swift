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

    var looksAtTheRepository: Bool { true }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        // From the records alone: neither damaged files of a backup nor an unavailable repository may hide this folder.
        context.folderAttributes(inode, time: context.newestTime(.safety, ofOwn: true))
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
