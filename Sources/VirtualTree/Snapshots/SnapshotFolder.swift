import BackupCore
import BackupRepository
import SnapshotFormats
import SystemIO

/// `snapshots/NAME/`: the stored tree and the views derived from it.
final class SnapshotFolder: FolderNode {
    let inode: InodeNumber
    private let snapshot: Snapshot
    private let context: TreeContext

    init(_ snapshot: Snapshot, inode: InodeNumber, context: TreeContext) {
        self.snapshot = snapshot
        self.inode = inode
        self.context = context
    }

    private static let attributePrefix = "user.backupfs."
    /// In code points. The kernel limits an attribute to 64 KiB.
    private static let valueLimit = 4_000
    static let pinnedName = "user.backupfs.pinned"

    func attributes() throws(BackupError) -> NodeAttributes {
        var attributes = context.folderAttributes(inode, time: snapshot.creationTime, isImmutable: true)
        // The name may be given to another snapshot, or disappear, at any time. A process on
        // this machine that causes it notifies the kernel; this timeout covers other hosts.
        attributes.entryTimeoutSeconds = TreeContext.snapshotTimeoutSeconds
        return attributes
    }

    var looksAtTheRepository: Bool { true }
    var hasKnownAttributes: Bool { true }

    private var stored: StoredFolder { StoredFolder(rootOf: snapshot, inode: inode, context: context) }

    private func views() -> [(name: FileName, node: any Node)] {
        [
            ("MD5SUMS", ListingFile(.md5, snapshot, inode: inode.child("MD5SUMS"), context: context)),
            ("SHA256SUMS", ListingFile(.sha256, snapshot, inode: inode.child("SHA256SUMS"), context: context)),
            (ArchiveFormat.tar.fileName, archive(.tar)), (ArchiveFormat.zip.fileName, archive(.zip)),
        ]
    }

    private func archive(_ format: ArchiveFormat) -> ArchiveFile {
        ArchiveFile(format, of: snapshot, inode: inode.child(format.fileName), context: context)
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        if let view = views().first(where: { $0.name == name }) { return view.node }
        return try stored.child(named: name)
    }

    func listing() throws(BackupError) -> FolderListing {
        // The archive's size of an older snapshot is computed from its folders. A damaged folder must not hide all other files.
        var shown: [(name: FileName, node: any Node)] = []
        for view in views() where try (view.node as? ArchiveFile)?.canTellSize() ?? true { shown.append(view) }
        return FolderListing(shown).followed(by: try stored.listing())
    }

    var isImmutable: Bool { true }
    func absenceTimeoutSeconds(of name: FileName) -> Double { TreeContext.immutableTimeoutSeconds }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        // Another node of the same snapshot may have pinned it since this one was created.
        let current = context.repository.snapshot(id: snapshot.id) ?? snapshot
        // Older programs stored texts of the app's database unchanged: they may be too long for an attribute, or contain a NUL.
        var attributes = current.publicAttributes.map {
            (name: Self.attributePrefix + $0.key, value: MessageText.shortened($0.value, limit: Self.valueLimit))
        }
        attributes.append((Self.attributePrefix + "created-at", ISO8601.format(current.creationTime.wholeSeconds)))
        attributes.append((Self.pinnedName, current.isPinned ? "1" : "0"))
        attributes.append((PendingFolder.stateName, PendingFolder.finishedState))
        if let time = current.verifiedAt { attributes.append((Self.attributePrefix + "verified-at", ISO8601.format(time))) }
        return attributes.sorted { $0.name < $1.name }
    }

    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        guard name == Self.pinnedName else { throw .readOnlyHere }
        let isPinned = try Self.isPin(value, of: snapshot.name)
        try context.requireRepository()
        try context.services.setPinned(snapshot, isPinned)
    }

    /// - Throws: `invalidArgument` for anything but `1` or `0`.
    static func isPin(_ value: [UInt8], of name: FileName) throws(BackupError) -> Bool {
        switch value {
        case [UInt8(ascii: "1")]: return true
        case [UInt8(ascii: "0")]: return false
        default: throw BackupError(.invalidArgument, "user.backupfs.pinned is 1 or 0", path: name.description)
        }
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        guard name == Self.pinnedName else { throw .readOnlyHere }
        try context.requireRepository()
        try context.services.setPinned(snapshot, false)
    }
}

/// `SHA256SUMS` and `MD5SUMS` of a snapshot. The size comes from the directory objects' totals; the lines are computed when the
/// file is opened.
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
