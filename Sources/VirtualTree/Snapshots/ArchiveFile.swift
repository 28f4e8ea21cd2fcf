import BackupCore
import BackupRepository
import SnapshotFormats
import SystemIO

/// `archive.zip` or `archive.tar` of a snapshot: a table of extents over the stored chunks, created at the first open.
final class ArchiveFile: FileNode {
    let inode: InodeNumber
    private let format: ArchiveFormat
    private let snapshot: Snapshot
    private let context: TreeContext

    init(_ format: ArchiveFormat, of snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        self.format = format
        self.snapshot = snapshot
        self.inode = inode
        self.context = context
    }

    private var path: String { "\(snapshot.name)/\(format.fileName)" }
    private var key: ArchiveCache.Key { ArchiveCache.Key(snapshot: snapshot.id, format: format) }

    private func size() throws(BackupError) -> UInt64 {
        try context.archives.size(of: key) { () throws(BackupError) in
            do throws(BackupError) {
                return try context.measureArchive(snapshot, format, context.repository)
            } catch {
                throw error.at(path)
            }
        }
    }

    /// Whether its size is available: not if it must be computed from damaged folders.
    func canTellSize() throws(BackupError) -> Bool {
        do throws(BackupError) {
            _ = try size()
            return true
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            return false
        }
    }

    var looksAtTheRepository: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions, size: try size(),
            modificationTime: snapshot.creationTime, isImmutable: true,
            entryTimeoutSeconds: TreeContext.immutableTimeoutSeconds,
            attributeTimeoutSeconds: TreeContext.immutableTimeoutSeconds)
    }

    func table() throws(BackupError) -> ExtentTable {
        try context.archives.table(of: key) { () throws(BackupError) in
            let size = try size()
            let table = try SnapshotArchive.table(of: snapshot, format, in: context.repository)
            guard table.size == size else {
                throw BackupError(
                    .repositoryDamaged,
                    "the archive would have \(table.size) bytes, but had \(size) at the backup",
                    path: path,
                    remedy: "The files of the snapshot are not affected: read them from its folder.")
            }
            return table
        }
    }

    var mimeType: String? { format.mimeType }
    var hasChecksums: Bool { true }
    var listsChecksums: Bool { context.archives.hasChecksums(of: inode) }
    var computesChecksums: Bool { true }

    /// Computed once, by reading the archive completely.
    func checksums() throws(BackupError) -> Checksums? {
        try context.archives.checksums(of: inode) { () throws(BackupError) in
            try context.repository.checksums(of: table())
        }
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return OpenExtents(
            try table(), repository: context.repository, path: path, isImmutable: true, isOwnMaking: true)
    }
}
