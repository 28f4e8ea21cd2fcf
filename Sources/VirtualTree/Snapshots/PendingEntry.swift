import BackupCore
import BackupRepository

/// A name in the folder of an unfinished backup. Every backup has the same names at its top, so looking one up need not wait. During a lookup the kernel keeps
/// the folder locked, and `rmdir` of it would block, and with it all of `snapshots/`. What the name stands for is requested without a lock, and that waits
/// until the backup has ended.
final class PendingEntry: Sendable {
    static let files: Set<FileName> = [
        "MD5SUMS", "SHA256SUMS", "archive.tar", "archive.zip", "changes.json", "database.sqlite", "export.json", "manifest.json",
        "schema.json",
    ]
    static let folders: Set<FileName> = ["by-key", "data", "media"]

    let name: FileName
    let folder: PendingFolder
    let inode: InodeNumber

    init(_ name: FileName, in folder: PendingFolder) {
        self.name = name
        self.folder = folder
        inode = folder.inode.child("pending").child(name)
    }

    /// The node that the name stands for, once the backup is finished.
    func finished() throws(BackupError) -> any Node { try folder.child(named: name) }

    /// Nothing is known about it, and the kernel has to ask again each time.
    func unknownAttributes(_ kind: NodeAttributes.Kind) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: kind, permissions: kind == .directory ? 0o755 : 0o644, size: 0,
            modificationTime: folder.startedAt)
    }

    /// The attributes of the finished node, with the number that the kernel knows.
    func attributes(_ kind: NodeAttributes.Kind) throws(BackupError) -> NodeAttributes {
        guard !folder.isPending else { return unknownAttributes(kind) }
        var attributes = try finished().attributes()
        guard attributes.kind == kind else { throw .notFound(name) }
        attributes.inode = inode
        attributes.entryTimeoutSeconds = 0
        return attributes
    }
}

/// A file of an unfinished backup.
final class PendingFile: FileNode {
    private let entry: PendingEntry

    init(_ entry: PendingEntry) { self.entry = entry }

    var inode: InodeNumber { entry.inode }
    var isPending: Bool { entry.folder.isPending }
    var looksAtTheRepository: Bool { !isPending }
    func attributes() throws(BackupError) -> NodeAttributes { try entry.attributes(.file) }
    func checksums() throws(BackupError) -> Checksums? { try entry.finished().checksums() }
    var hasChecksums: Bool { true }
    var listsChecksums: Bool { (try? entry.finished().listsChecksums) ?? false }
    var mimeType: String? { MIMEType.of(entry.name) }
    var computesChecksums: Bool { ArchiveFormat.allCases.contains { $0.fileName == entry.name } }

    func open(flags: Int32, process: Int32) throws(BackupError) -> any OpenFile {
        guard let file = try entry.finished() as? any FileNode else { throw .notFound(entry.name) }
        return try file.open(flags: flags, process: process)
    }
}

/// A folder of an unfinished backup.
final class PendingSubfolder: FolderNode {
    private let entry: PendingEntry

    init(_ entry: PendingEntry) { self.entry = entry }

    private func finished() throws(BackupError) -> any FolderNode {
        guard let folder = try entry.finished() as? any FolderNode else { throw .notFound(entry.name) }
        return folder
    }

    var inode: InodeNumber { entry.inode }
    var isPending: Bool { entry.folder.isPending }
    var looksAtTheRepository: Bool { !isPending }
    func attributes() throws(BackupError) -> NodeAttributes { try entry.attributes(.directory) }
    func requireOpenable() throws(BackupError) { _ = try finished() }
    func child(named name: FileName) throws(BackupError) -> any Node { try finished().child(named: name) }
    func listing() throws(BackupError) -> FolderListing { try finished().listing() }
    var isImmutable: Bool { !isPending }
}
