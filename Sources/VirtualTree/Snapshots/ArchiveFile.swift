import BackupCore
import BackupRepository
import SystemIO

/// `archive.zip` of a snapshot: a table of extents over the stored chunks, made when it is first opened.
final class ArchiveFile: FileNode {
    let inode: InodeNumber
    private let snapshot: Snapshot
    private let context: TreeContext

    init(_ snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        self.snapshot = snapshot
        self.inode = inode
        self.context = context
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: snapshot.record.archiveSizeBytes,
            modificationTime: snapshot.creationTime, isImmutable: true,
            entryTimeoutSeconds: TreeContext.immutableTimeoutSeconds,
            attributeTimeoutSeconds: TreeContext.immutableTimeoutSeconds)
    }

    func table() throws(BackupError) -> ExtentTable {
        try context.archives.table(of: snapshot.id) { () throws(BackupError) in
            let members = try SnapshotArchive.members(of: snapshot, in: context.repository)
            let table = try context.services.archiveTable(of: members)
            guard table.size == snapshot.record.archiveSizeBytes else {
                throw BackupError(
                    .repositoryDamaged,
                    "the archive would have \(table.size) bytes, but had \(snapshot.record.archiveSizeBytes) at the backup",
                    path: "\(snapshot.name)/archive.zip",
                    remedy: "The files of the snapshot are not affected: read them from its folder.")
            }
            return table
        }
    }

    var mimeType: String? { "application/zip" }
    var hasChecksums: Bool { true }

    /// Computed by reading the archive through, once.
    func checksums() throws(BackupError) -> Checksums? {
        try context.archives.checksums(of: inode) { () throws(BackupError) in
            try context.repository.checksums(of: table())
        }
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return OpenExtents(
            try table(), repository: context.repository, path: "\(snapshot.name)/archive.zip", isImmutable: true)
    }
}
