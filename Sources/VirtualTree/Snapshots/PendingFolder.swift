import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// `snapshots/NAME/` of an unfinished backup. Its name, its state and the names in it are available immediately. Any further
/// access waits until the backup has ended: the bridge holds back such requests (`TreeOperations.isPending`), and requests that
/// it does not hold back wait here.
final class PendingFolder: FolderNode {
    static let pendingState = "pending"
    static let finishedState = "finished"

    let inode: InodeNumber
    private let backup: PendingBackup
    private let context: TreeContext

    init(_ backup: PendingBackup, context: TreeContext) {
        self.backup = backup
        inode = backup.inode
        self.context = context
    }

    var isPending: Bool { backup.result == nil }
    var startedAt: Timestamp { backup.startedAt }
    var looksAtTheRepository: Bool { !isPending }

    /// The folder of the finished backup.
    private func finished() throws(BackupError) -> SnapshotFolder {
        switch backup.wait(atMostSeconds: nil) {
        case .success(let made):
            guard let snapshot = context.repository.snapshot(id: made.id) else { throw .notFound(backup.name) }
            return SnapshotFolder(snapshot, inode: inode, context: context)
        case .failure(let error):
            // It was cancelled on request and does not exist.
            throw error.code == .interrupted ? .notFound(backup.name) : error
        case nil: throw .notFound(backup.name)
        }
    }

    func attributes() throws(BackupError) -> NodeAttributes {
        guard isPending else { return try finished().attributes() }
        var attributes = context.folderAttributes(inode, time: backup.startedAt)
        attributes.entryTimeoutSeconds = 0
        attributes.attributeTimeoutSeconds = 0
        return attributes
    }

    func child(named name: FileName) throws(BackupError) -> any Node {
        guard isPending else { return try finished().child(named: name) }
        if PendingEntry.files.contains(name) { return PendingFile(PendingEntry(name, in: self)) }
        if PendingEntry.folders.contains(name) { return PendingSubfolder(PendingEntry(name, in: self)) }
        throw .notFound(name)
    }

    /// A program that has waited gets the error here: it reads later, or not at all.
    func requireOpenable() throws(BackupError) { _ = try finished() }

    func listing() throws(BackupError) -> FolderListing { try finished().listing() }

    var isImmutable: Bool { !isPending }

    func absenceTimeoutSeconds(of name: FileName) -> Double { isPending ? 0 : TreeContext.immutableTimeoutSeconds }

    func ownExtendedAttributes() throws(BackupError) -> [(name: String, value: String)] {
        guard isPending else { return try finished().ownExtendedAttributes() }
        return [(SnapshotFolder.pinnedName, backup.isPinned ? "1" : "0"), (StateAttribute.name, Self.pendingState)]
    }

    /// A pin takes effect from the moment the backup exists.
    func setExtendedAttribute(_ name: String, to value: [UInt8]) throws(BackupError) {
        if name == SnapshotFolder.pinnedName {
            let isPinned = try SnapshotFolder.isPin(value, of: backup.name)
            if try backup.pin(isPinned) { return }
            if try setPinnedWhereVisible(isPinned) { return }
        }
        guard !isPending else { throw .readOnlyHere }
        try finished().setExtendedAttribute(name, to: value)
    }

    func removeExtendedAttribute(_ name: String) throws(BackupError) {
        if name == SnapshotFolder.pinnedName {
            if try backup.pin(false) { return }
            if try setPinnedWhereVisible(false) { return }
        }
        guard !isPending else { throw .readOnlyHere }
        try finished().removeExtendedAttribute(name)
    }

    /// How long to wait for the backup to appear after its pin was settled.
    private static let appearanceNanoseconds: UInt64 = 2_000_000_000

    /// For a backup that exists already while follow-up work, such as retention, still runs. Waiting for that would keep
    /// `snapshots/` locked.
    /// - Returns: false when it has ended meanwhile.
    private func setPinnedWhereVisible(_ isPinned: Bool) throws(BackupError) -> Bool {
        let deadline = SystemClock.monotonicNanoseconds() + Self.appearanceNanoseconds
        while isPending {
            _ = try context.repository.refresh()
            // No other snapshot can have its name: the name was free when the backup got it.
            if let snapshot = context.repository.snapshot(named: backup.name), snapshot.kind == .snapshot,
                !context.services.own([snapshot]).isEmpty
            {
                try context.services.setPinned(snapshot, isPinned)
                backup.notePinned(isPinned)
                return true
            }
            guard SystemClock.monotonicNanoseconds() < deadline else {
                throw BackupError(
                    .busy, "the backup is not finished yet", path: backup.name.description,
                    remedy: "Wait a moment, and look again.")
            }
            usleep(5_000)
        }
        return false
    }
}

/// A name in the folder of an unfinished backup. Every backup has the same names at its top, so looking one up need not wait.
/// During a lookup the kernel keeps the folder locked, and `rmdir` of it would block, and with it all of `snapshots/`. What the
/// name stands for is requested without a lock, and that waits until the backup has ended.
final class PendingEntry: Sendable {
    static let files: Set<FileName> = [
        "MD5SUMS", "SHA256SUMS", "archive.tar", "archive.zip", "changes.json", "database.sqlite", "export.json", "index.html",
        "manifest.json", "photos.jsonl", "schema.json",
    ]
    static let folders: Set<FileName> = ["by-key", "data", "media", "metadata", "photos", "thumbnails"]

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
    func unknownAttributes(_ kind: FileKind) -> NodeAttributes {
        NodeAttributes(
            inode: inode, kind: kind, permissions: kind == .directory ? 0o755 : 0o644, size: 0,
            modificationTime: folder.startedAt)
    }

    /// The attributes of the finished node, with the number that the kernel knows.
    func attributes(_ kind: FileKind) throws(BackupError) -> NodeAttributes {
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
    var computesChecksums: Bool {
        entry.name == "export.json" || computesContent || ArchiveFormat.allCases.contains { $0.fileName == entry.name }
    }
    var computesContent: Bool { ChecksumListing.Algorithm.allCases.contains { $0.fileName == entry.name } }

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
