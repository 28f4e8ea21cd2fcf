import BackupCore
import SystemIO

/// A file of a job at its destination.
struct CopiedFile {
    /// Below the destination.
    let path: [UInt8]
    let name: FileName
    let size: UInt64
    let modificationTime: Timestamp
    let digests: FileDigests
    let hashedAt: Timestamp?
    /// Whether it differs from a list that came with the source.
    let isMismatch: Bool

    var lacksDigest: BackupError {
        BackupError(
            .notSupported, "the job has no digest of this file for its list of checksums", path: MessageText.name(path),
            remedy: "Copy once more with --manifest; what is there already is compared.")
    }
}

/// A list of checksums that is written while a destination is walked through.
protocol ManifestSink: AnyObject {
    func enter(_ folder: SourceFolder) throws(BackupError)
    func add(_ file: CopiedFile) throws(BackupError)
    /// A link that the job has copied.
    func addLink(_ path: [UInt8]) throws(BackupError)
    /// What is not of this job.
    func addOther(_ name: FileName, in folder: SourceFolder, _ handle: DirectoryHandle, _ status: FileStatus) throws(BackupError)
    /// A folder that cannot be read, and is not of this job.
    func addUnreadable(_ path: [UInt8]) throws(BackupError)
    func leave(_ folder: SourceFolder) throws(BackupError)
}

/// Passes the files of a job at a destination on to a list, in the order of their names. Each must be as the job has left it.
final class ManifestWalk: SourceVisitor {
    private let rows: CopiedRows
    private let sink: any ManifestSink
    private var seenCount = 0

    private init(_ rows: CopiedRows, _ sink: any ManifestSink) {
        self.rows = rows
        self.sink = sink
    }

    /// - Throws: `stale` when a file is missing, or has changed since it was verified.
    static func run(_ root: DirectoryHandle, _ rows: CopiedRows, _ sink: any ManifestSink) throws(BackupError) {
        let walk = ManifestWalk(rows, sink)
        try SourceWalk(root: root, includesHidden: true, visitor: walk).run()
        guard walk.seenCount == rows.copiedCount else {
            throw changed(root.path, "\(rows.copiedCount - walk.seenCount) of its copies are not there any more")
        }
    }

    private static func changed(_ path: String, _ message: Message) -> BackupError {
        BackupError(.stale, message, path: path, remedy: "Resume the job when no other program changes the destination.")
    }

    func enter(_ folder: SourceFolder, _ handle: DirectoryHandle, names: [FileName]) throws(BackupError) {
        try Cancellation.check()
        try sink.enter(folder)
    }

    func visit(
        _ name: FileName, _ status: FileStatus, in folder: SourceFolder, _ handle: DirectoryHandle
    ) throws(BackupError) {
        let path = folder.path(of: name)
        guard let row = try rows.row(path) else { return try sink.addOther(name, in: folder, handle, status) }
        guard row.targetInode == status.inode, row.targetTime == status.modificationTime, row.size == status.size else {
            throw Self.changed("\(handle.path)/\(MessageText.name(name.bytes))", "it has changed since it was verified")
        }
        seenCount += 1
        guard status.kind == .regular else { return try sink.addLink(path) }
        try sink.add(
            CopiedFile(
                path: path, name: name, size: status.size, modificationTime: status.modificationTime, digests: row.digests,
                hashedAt: row.hashedAt, isMismatch: row.status == .sourceMismatch))
    }

    func leave(_ folder: SourceFolder, _ handle: DirectoryHandle) throws(BackupError) { try sink.leave(folder) }
    func skipHidden(_ count: Int) {}
    /// A file of the job is missed at the end.
    func miss(_ path: [UInt8]) {}
    func fail(_ path: [UInt8], _ error: BackupError) throws(BackupError) {
        if error.code == .interrupted { throw error }
        try sink.addUnreadable(path)
    }
}
