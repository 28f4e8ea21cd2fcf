import AppData
import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO

/// Reads one file of the media folder and never stores a mix of two states.
final class MediaFile: ByteSource {
    static let attemptLimit = 3

    private let file: SharedFile
    private let path: String

    private init(_ file: SharedFile, _ path: String) {
        self.file = file
        self.path = path
    }

    /// Size in bytes when it was opened.
    var size: UInt64 { file.size }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        try Self.reading(path) { () throws(BackupError) in try file.read(at: offset, into: buffer) }
    }

    /// Stores a file. If it changes meanwhile, retries at most twice; then it counts as unreadable, since a mix of two states is
    /// worse than nothing.
    /// - Throws: `sourceUnreadable`; the errors of `body`.
    /// - Parameter metadata: collects the metadata kept with the file.
    static func stable(
        _ name: FileName, _ path: String, in folder: DirectoryHandle, _ metadata: MediaMetadata,
        _ body: (MediaFile) throws(BackupError) -> StoredFile
    ) throws(BackupError) -> TreeEntry {
        for _ in 0..<attemptLimit {
            let file = try open(name, path, in: folder)
            let before = try reading(path) { () throws(BackupError) in try file.status() }
            // The next backup recognizes an unchanged file by this; `nil` where the file could change without a trace. A store
            // through mmap(2) into a dirty page changes no time: after the write-back, no page is dirty.
            let isTraced = before.isSettled && file.writeBack()
            let identity = isTraced ? SourceIdentity(inode: before.inode, changeTime: before.changeTime) : nil
            let stored = try body(MediaFile(file, path))
            // A metadata change also updates the change time.
            let kept = try file.withDescriptor { (file) throws(BackupError) in metadata.of(file, before, path: path) }
            let after = try reading(path) { () throws(BackupError) in try file.status() }
            // The change time too: a program that writes in place may reset the modification time.
            guard stored.size == before.size, before.size == after.size, before.modificationTime == after.modificationTime,
                before.changeTime == after.changeTime
            else { continue }
            return .file(
                name: name, mode: before.mode, modificationTime: before.modificationTime, stored: stored,
                sourceIdentity: identity, metadata: kept)
        }
        throw BackupError(.sourceUnreadable, "changed again and again while it was read", path: path)
    }

    private static func open(
        _ name: FileName, _ path: String, in folder: DirectoryHandle
    ) throws(BackupError) -> SharedFile {
        do {
            return try SharedFile(folder.openFile(name))
        } catch {
            throw unreadable(error, path)
        }
    }

    /// SQLite databases are cut into pages, as the app's own is: a changed row then changes a page, not a megabyte.
    /// - Parameter start: the file's first bytes.
    static func policy(of start: UnsafeRawBufferPointer) -> ChunkingPolicy {
        SQLiteHeader(start).map { .database(pageSizeBytes: $0.pageSizeBytes) } ?? .media
    }

    static func reading<Result>(
        _ path: @autoclosure () -> String, _ body: () throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        do {
            return try body()
        } catch {
            throw unreadable(error, path())
        }
    }

    /// The error for a file that cannot be read. If this program ran out of descriptors or memory, the file is fine, and a backup
    /// without it would have a gap.
    private static func unreadable(_ error: BackupError, _ path: String) -> BackupError {
        switch error.code {
        case .interrupted, .noResources: error
        default: BackupError(.sourceUnreadable, error.message, path: path, cause: .error(error))
        }
    }

    static func openingFolder(
        _ name: FileName, in folder: DirectoryHandle, _ path: String
    ) throws(BackupError) -> DirectoryHandle {
        do {
            return try folder.openDirectory(name)
        } catch {
            throw unreadable(error, path)
        }
    }
}

/// The metadata that a backup keeps with media files: owner, extended attributes, hard links and holes (decision 40).
final class MediaMetadata: Sendable {
    /// The value in the record when metadata was collected from all files.
    private static let version = "1"

    /// The owner of files whose entries name no other.
    private let owner: FileOwner
    /// The device of the media folder, recorded as 0: device numbers change.
    private let device: UInt64
    /// Whether the entries of the backup that this one compares itself with include metadata.
    let isKnown: Bool
    private let problems = Mutex<(count: Int, first: Message)?>(nil)

    /// - Parameters:
    ///   - earlier: the backup whose entries are reused.
    ///   - status: the media folder's status.
    init(earlier: Snapshot?, _ status: FileStatus) {
        isKnown = earlier?.record.attributes[Snapshot.mediaMetadataAttribute] == Self.version
        // The meaning of reused entries must not change.
        owner = (isKnown ? earlier?.mediaOwner : nil) ?? FileOwner(user: status.owner, group: status.group)
        device = status.device
    }

    /// For the snapshot's record.
    var attributes: [String: String] {
        [
            Snapshot.mediaMetadataAttribute: Self.version,
            Snapshot.mediaOwnerAttribute: "\(owner.user):\(owner.group)",
        ]
    }

    /// The metadata of an open file or folder.
    /// - Parameter path: within the media folder.
    func of(
        _ descriptor: borrowing OwnedDescriptor, _ status: FileStatus, path: @autoclosure () -> String
    ) -> EntryMetadata? {
        var attributes: [ExtendedAttribute] = []
        do throws(BackupError) { attributes = try descriptor.extendedAttributes() } catch { note(error, path()) }
        let isFile = status.kind == .regular
        return .of(
            owner: otherOwner(status), link: isFile ? link(status) : nil, holeBytes: isFile ? holeBytes(descriptor, status) : 0,
            extendedAttributes: attributes)
    }

    /// The metadata of a symbolic link: only an owner.
    func ofLink(_ status: FileStatus) -> EntryMetadata? { .of(owner: otherOwner(status)) }

    private func otherOwner(_ status: FileStatus) -> FileOwner? {
        let own = FileOwner(user: status.owner, group: status.group)
        return own == owner ? nil : own
    }

    private func link(_ status: FileStatus) -> EntryMetadata.Link? {
        guard status.linkCount > 1 else { return nil }
        return EntryMetadata.Link(fileSystem: status.device == device ? 0 : status.device, inode: status.inode)
    }

    /// Only a file that occupies less space than its size can have holes. Other files do too on file systems that compress, or
    /// that store small files elsewhere.
    private func holeBytes(_ descriptor: borrowing OwnedDescriptor, _ status: FileStatus) -> UInt64 {
        status.allocatedBytes < status.size ? descriptor.holeBytes(size: status.size) : 0
    }

    private func note(_ error: BackupError, _ path: String) {
        problems.withLock { known in
            guard let before = known else {
                known = (1, "\(path): \(error.message)")
                return
            }
            known = (before.count + 1, before.first)
        }
    }

    /// The warning for the user: the files themselves are in the backup.
    var warning: BackupWarning? {
        problems.withLock { $0 }.map { known in
            BackupWarning(
                .attributes,
                .plural(
                    known.count, one: "the backup lacks the extended attributes of \(known.count) file: \(known.first)",
                    other: "the backup lacks the extended attributes of \(known.count) files; of the first: \(known.first)"))
        }
    }
}
