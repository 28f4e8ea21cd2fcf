import BackupCore
import BackupRepository

/// A symbolic link inside a snapshot's media folder, shown as it was; this program never follows it.
final class StoredLink: LinkNode {
    let inode: InodeNumber
    private let folder: StoredFolder
    private let index: Int32

    init(_ index: Int32, in folder: StoredFolder, inode: InodeNumber) {
        self.index = index
        self.folder = folder
        self.inode = inode
    }

    var looksAtTheRepository: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes { folder.attributes(of: try folder.entry(at: index), inode) }

    /// - Throws: `repositoryDamaged` for a target that no writer stores: the kernel would cut it off at the NUL, and show another target.
    func target() throws(BackupError) -> [UInt8] {
        let entry = try folder.entry(at: index)
        let target = try folder.repository.readAll(ExtentTable(plainContent: folder.repository.pieces(of: entry.content)))
        guard !target.isEmpty, !target.contains(0) else {
            throw BackupError(.repositoryDamaged, "the link leads to no path", path: MessageText.name(entry.name.bytes))
        }
        return target
    }
}
