import BackupCore
import BackupRepository

/// A symbolic link inside a snapshot's media folder, shown as it was; it is never followed by this program.
final class StoredLink: LinkNode {
    let inode: InodeNumber
    private let folder: StoredFolder
    private let index: Int32

    init(_ index: Int32, in folder: StoredFolder, inode: InodeNumber) {
        self.index = index
        self.folder = folder
        self.inode = inode
    }

    func attributes() throws(BackupError) -> NodeAttributes { folder.attributes(of: try folder.entry(at: index), inode) }

    func target() throws(BackupError) -> [UInt8] {
        let table = ExtentTable(plainContent: try folder.repository.pieces(of: folder.entry(at: index).content))
        return try folder.repository.readAll(table)
    }
}
