import BackupCore
import BackupRepository

/// A file inside a snapshot. The kernel may know hundreds of thousands of them, so each holds only its folder and its index there.
final class StoredFile: FileNode {
    let inode: InodeNumber
    private let folder: StoredFolder
    private let index: Int32

    init(_ index: Int32, in folder: StoredFolder, inode: InodeNumber) {
        self.index = index
        self.folder = folder
        self.inode = inode
    }

    private func entry() throws(BackupError) -> TreeEntry { try folder.entry(at: index) }

    var looksAtTheRepository: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes { folder.attributes(of: try entry(), inode) }

    var mimeType: String? { (try? entry()).map { MIMEType.of($0.name) } }
    var hasChecksums: Bool { (try? entry().checksums) != nil }
    func checksums() throws(BackupError) -> Checksums? { try entry().checksums }

    func storedExtendedAttributes() throws(BackupError) -> [ExtendedAttribute] {
        try entry().metadata?.extendedAttributes ?? []
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        let entry = try entry()
        return OpenExtents(
            ExtentTable(plainContent: try folder.pieces(of: index, entry)), repository: folder.repository,
            isImmutable: true, isOwnMaking: folder.isMade(entry), path: { [self] in folder.path(of: entry.name) })
    }
}
