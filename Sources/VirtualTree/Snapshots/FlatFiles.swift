import BackupCore
import BackupRepository

/// Snapshots as one flat file each: `exports/` and `safety/`.
struct FlatFiles: Sendable {
    private struct File: Sendable {
        let name: FileName
        let isArchive: Bool
        let snapshot: Snapshot
    }

    private let files: [File]
    private let indices: [FileName: Int]

    /// - Parameter file: the name of a snapshot's file, which need not be unique, and whether it is the archive.
    init(_ snapshots: [Snapshot], _ file: (Snapshot) -> (name: String, isArchive: Bool)) {
        let described = snapshots.map(file)
        let names = UniqueFileNames.make(described.map(\.name))
        let files = snapshots.indices.map {
            File(name: FileName(names[$0]), isArchive: described[$0].isArchive, snapshot: snapshots[$0])
        }
        self.files = files
        indices = Dictionary(files.indices.map { (files[$0].name, $0) }) { first, _ in first }
    }

    private func node(_ file: File, in folder: InodeNumber, _ context: TreeContext) -> any Node {
        SnapshotFile(
            file.snapshot, file.isArchive ? .archive : .export, inode: folder.snapshot(file.snapshot.id), context: context)
    }

    /// - Throws: `notFound`.
    func child(named name: FileName, in folder: InodeNumber, _ context: TreeContext) throws(BackupError) -> any Node {
        // File managers and shells probe for dozens of hidden names; no file has one.
        guard name.bytes.first != UInt8(ascii: "."), let index = indices[name] else { throw .notFound(name) }
        return node(files[index], in: folder, context)
    }

    func listing(in folder: InodeNumber, _ context: TreeContext) -> FolderListing {
        FolderListing(files.map { ($0.name, node($0, in: folder, context)) })
    }
}
