import BackupCore
import BackupRepository

/// A snapshot as one flat file, in `exports/` and `safety/`: its export or its archive under another name.
final class SnapshotFile: FileNode {
    enum Form: Sendable { case export, archive }

    let inode: InodeNumber
    private let snapshot: Snapshot
    private let form: Form
    private let context: TreeContext

    init(_ snapshot: Snapshot, _ form: Form, inode: InodeNumber, context: TreeContext) {
        self.snapshot = snapshot
        self.form = form
        self.inode = inode
        self.context = context
    }

    private func original() throws(BackupError) -> any FileNode {
        switch form {
        case .archive: return ArchiveFile(.zip, of: snapshot, inode: inode, context: context)
        case .export:
            guard let index = try context.repository.rootDirectory(of: snapshot).index(named: "export.json") else {
                throw BackupError(.notFound, "the snapshot has no export", path: snapshot.name.description)
            }
            let folder = StoredFolder(rootOf: snapshot, inode: inode, context: context)
            return StoredFile(Int32(index), in: folder, inode: inode)
        }
    }

    var looksAtTheRepository: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = try original().attributes()
        // The name disappears with the snapshot, which may be deleted at any time.
        attributes.entryTimeoutSeconds = 0
        return attributes
    }

    var mimeType: String? { form == .archive ? "application/zip" : "application/json" }
    var hasChecksums: Bool { true }
    var listsChecksums: Bool { (try? original().listsChecksums) ?? false }
    var computesChecksums: Bool { true }
    func checksums() throws(BackupError) -> Checksums? { try original().checksums() }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        try original().open(flags: flags, process: process)
    }
}
