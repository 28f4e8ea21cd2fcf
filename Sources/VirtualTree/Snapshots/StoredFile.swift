import BackupCore
import BackupRepository

/// A file inside a snapshot.
final class StoredFile: FileNode {
    let inode: InodeNumber
    private let entry: TreeEntry
    private let path: String
    /// Made by this program, and not a file of the app's media folder.
    private let isMade: Bool
    private let context: TreeContext

    init(_ entry: TreeEntry, path: String, isMade: Bool, inode: InodeNumber, context: TreeContext) {
        self.entry = entry
        self.isMade = isMade
        self.path = path
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        StoredFolder.attributes(entry, inode, context, isMade: isMade)
    }

    var mimeType: String? { MIMEType.of(entry.name) }
    var hasChecksums: Bool { entry.checksums != nil }
    func checksums() throws(BackupError) -> Checksums? { entry.checksums }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let pieces = try context.repository.pieces(of: entry.content)
        return OpenExtents(
            ExtentTable(plainContent: pieces), repository: context.repository, path: path, isImmutable: true)
    }
}
