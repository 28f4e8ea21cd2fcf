import BackupCore
import BackupRepository

/// A folder with one flat file for each of this store's own snapshots of one kind: `exports/` has the snapshots under the app's
/// own file name, `safety/` the backups that restores made before they changed anything.
final class FlatSnapshotsFolder: FolderNode {
    let inode: InodeNumber
    private let kind: SnapshotKind
    private let context: TreeContext

    init(_ kind: SnapshotKind, inode: InodeNumber, context: TreeContext) {
        self.kind = kind
        self.inode = inode
        self.context = context
    }

    var looksAtTheRepository: Bool { true }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        // From the records alone: neither damaged files of a backup nor an unavailable repository may hide this folder.
        context.folderAttributes(inode, time: context.newestTime(kind, ofOwn: true))
    }

    private func node(_ file: FlatFiles.File) -> any Node {
        SnapshotFile(
            file.snapshot, file.isArchive ? .archive : .export, inode: inode.snapshot(file.snapshot.id), context: context)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let file = try context.flatFiles(kind).file(named: name) else { throw .notFound(name) }
        return node(file)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing {
        FolderListing(try context.flatFiles(kind).files.map { ($0.name, node($0)) })
    }
}

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
