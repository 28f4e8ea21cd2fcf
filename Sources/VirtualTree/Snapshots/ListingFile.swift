import BackupCore
import BackupRepository
import SystemIO

/// `SHA256SUMS` and `MD5SUMS` of a snapshot. The size comes from the directory objects' totals; the lines are computed when the file is opened.
final class ListingFile: FileNode {
    let inode: InodeNumber
    private let algorithm: ChecksumListing.Algorithm
    private let snapshot: Snapshot
    private let context: TreeContext

    init(_ algorithm: ChecksumListing.Algorithm, _ snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        self.algorithm = algorithm
        self.snapshot = snapshot
        self.inode = inode
        self.context = context
    }

    var looksAtTheRepository: Bool { true }

    func attributes() throws(BackupError) -> NodeAttributes {
        let root = try context.repository.rootDirectory(of: snapshot)
        return NodeAttributes(
            inode: inode, kind: .file, permissions: context.filePermissions,
            size: ChecksumListing.sizeBytes(of: root, algorithm), modificationTime: snapshot.creationTime, isImmutable: true,
            entryTimeoutSeconds: TreeContext.immutableTimeoutSeconds,
            attributeTimeoutSeconds: TreeContext.immutableTimeoutSeconds)
    }

    private func text() throws(BackupError) -> [UInt8] {
        try ChecksumListing.text(of: context.repository.rootDirectory(of: snapshot), algorithm, in: context.repository)
    }

    var mimeType: String? { "text/plain" }
    var hasChecksums: Bool { true }

    func checksums() throws(BackupError) -> Checksums? {
        try context.archives.checksums(of: inode) { () throws(BackupError) in ContentHasher.hash(try text()) }
    }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard !flags.asksToWrite else { throw .readOnlyHere }
        return OpenExtents(
            ExtentTable(literal: try text()), repository: context.repository, path: "\(snapshot.name)/SUMS", isImmutable: true)
    }
}
