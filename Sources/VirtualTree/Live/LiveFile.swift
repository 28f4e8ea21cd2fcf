import BackupCore

/// A file of `live/`. Each open sees one consistent state, whatever the app writes meanwhile.
final class LiveFile: FileNode {
    let inode: InodeNumber
    private let path: [FileName]
    private let context: TreeContext

    init(inode: InodeNumber, path: [FileName], context: TreeContext) {
        self.inode = inode
        self.path = path
        self.context = context
    }

    private func entry() throws(BackupError) -> LiveEntry { try context.liveEntry(.file, at: path) }

    func attributes() throws(BackupError) -> NodeAttributes { LiveFolder.attributes(try entry(), at: path, inode, context) }

    var mimeType: String? { path.last.map(MIMEType.of) }
    var hasChecksums: Bool { true }
    func checksums() throws(BackupError) -> Checksums? { try entry().checksums() }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let name = path.map(\.description).joined(separator: "/")
        return OpenExtents(
            try entry().content(), repository: context.repository, path: "live/\(name)", isImmutable: false)
    }
}
