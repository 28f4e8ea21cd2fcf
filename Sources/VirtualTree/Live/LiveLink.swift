import BackupCore

/// A symbolic link in the app's media folder.
final class LiveLink: LinkNode {
    let inode: InodeNumber
    private let path: [FileName]
    private let context: TreeContext

    init(inode: InodeNumber, path: [FileName], context: TreeContext) {
        self.inode = inode
        self.path = path
        self.context = context
    }

    private func entry() throws(BackupError) -> LiveEntry { try context.liveEntry(.symbolicLink, at: path) }

    var looksAtTheApp: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes { LiveFolder.attributes(try entry(), at: path, inode, context) }

    func target() throws(BackupError) -> [UInt8] { try context.repository.readAll(try entry().content()) }
}
