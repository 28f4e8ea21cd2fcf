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
    var waitsForNetwork: Bool { context.isRemote }
    var hasKnownAttributes: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        // From the records alone: neither damaged files of a backup nor an unavailable repository may hide this folder.
        context.folderAttributes(inode, time: context.newestTime(kind, ofOwn: true))
    }

    private func node(_ file: FlatFiles.File) -> any Node {
        ComputedFile(
            file.isArchive ? .archive(.zip) : .export, of: file.snapshot, inode: inode.snapshot(file.snapshot.id), isFlat: true,
            context: context)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard let file = try context.flatFiles(kind).file(named: name) else { throw .notFound(name) }
        return node(file)
    }

    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.hiddenNameTimeoutSeconds(name) }

    func listing() throws(BackupError) -> FolderListing {
        let files = try context.flatFiles(kind).files
        // Their sizes may have to be rendered.
        let named = files.filter { !$0.snapshot.storesExport }
        let stored = FolderListing(files.filter(\.snapshot.storesExport).map { ($0.name, node($0)) })
        return named.isEmpty ? stored : stored.followed(by: FolderListing(namesOf: named.map { ($0.name, node($0)) }))
    }
}
