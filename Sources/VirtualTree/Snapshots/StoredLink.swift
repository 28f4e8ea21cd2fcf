import BackupCore
import BackupRepository

/// A symbolic link inside a snapshot's media folder, shown as it was; it is never followed by this program.
final class StoredLink: LinkNode {
    let inode: InodeNumber
    private let entry: TreeEntry
    private let context: TreeContext

    init(_ entry: TreeEntry, inode: InodeNumber, context: TreeContext) {
        self.entry = entry
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes { StoredFolder.attributes(entry, inode, context, isMade: false) }

    func target() throws(BackupError) -> [UInt8] {
        let table = ExtentTable(plainContent: try context.repository.pieces(of: entry.content))
        return try context.repository.readAll(table)
    }
}
