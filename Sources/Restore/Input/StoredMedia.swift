import BackupCore
import BackupRepository
import Glibc
import SystemIO

/// The media folder of the restored backup in the repository: file metadata that no archive contains (decision 40).
public struct StoredMedia: Sendable {
    let repository: Repository
    let root: StoredDirectory
    private let entry: TreeEntry
    /// The owner of files whose entries name no other; `nil` where the backup does not record it.
    private let fileOwner: FileOwner?

    /// - Returns: `nil` when the backup has no media, or cannot be read.
    public init?(of snapshot: Snapshot, in repository: Repository) {
        guard let entry = (try? repository.rootDirectory(of: snapshot))?.entry(named: "media"), let root = entry.storedDirectory
        else { return nil }
        self.repository = repository
        self.root = root
        self.entry = entry
        fileOwner = snapshot.mediaOwner
    }

    private var folderOwner: FileOwner? { entry.metadata?.owner ?? fileOwner }

    /// The owner that root gives to restored files whose entries name none.
    ///
    /// Normally the present owner of the media folder, as after a move to another machine, where the app has another number. But
    /// the backup's numbers apply if the folder had its own owner in the backup and still has it, or if most of its content still
    /// has the backup's owner.
    func ownerOfFiles(in path: String) throws(BackupError) -> FileOwner {
        let folder = try DirectoryHandle(path: path, followsLink: false)
        let status = try folder.descriptor.status()
        let present = FileOwner(user: status.owner, group: status.group)
        guard let fileOwner, let folderOwner, present != fileOwner else { return present }
        if present == folderOwner { return fileOwner }
        var (knownCount, otherCount) = (0, 0)
        for name in try folder.names().prefix(Self.lookedAtCount) {
            guard let status = try folder.statusIfPresent(name) else { continue }
            let isKnown = FileOwner(user: status.owner, group: status.group) == fileOwner
            (knownCount, otherCount) = isKnown ? (knownCount + 1, otherCount) : (knownCount, otherCount + 1)
        }
        return knownCount > otherCount ? fileOwner : present
    }

    /// In a large folder the first names are representative.
    private static let lookedAtCount = 1_000

    /// Sets the backup's metadata on the media folder, which was lost and is created again. As root also its owner, unless the
    /// parent folder shows another one. Failures are ignored: the folder exists.
    public func giveMetadata(toMadeFolder path: String) throws(BackupError) {
        let folder = try DirectoryHandle(path: path, followsLink: false)
        if geteuid() == 0 {
            let parent = try FileSystem.status(FileSystem.parentPath(path))
            // The parent folder's numbers are still those of the backup if its user is the same.
            let isKnown = parent.owner == 0 || parent.owner == folderOwner?.user
            let owner = isKnown ? folderOwner : FileOwner(user: parent.owner, group: parent.group)
            if let owner { try? folder.descriptor.setOwner(owner) }
        }
        let permissions = mode_t(entry.restoredPermissions)
        // The restore must be able to fill it.
        try folder.descriptor.setPermissions(permissions | 0o700)
        _ = folder.descriptor.setExtendedAttributes(
            entry.metadata?.extendedAttributes ?? [], permissions: permissions | 0o700)
    }

    /// Paths below the media folder of files that had holes, with the number of bytes in these.
    func sparseFiles() -> [[UInt8]: UInt64] {
        var files: [[UInt8]: UInt64] = [:]
        var cursor = TreeCursor(root, in: repository)
        while let step = cursor.nextReadable() {
            if case .entry(let entry) = step, let count = entry.metadata?.holeBytes, count > 0 { files[cursor.path] = count }
        }
        return files
    }
}

/// Sets the backup's metadata on staged media. Leaves a file alone if it was staged differently than stored.
struct StagedMetadata {
    private let media: StoredMedia
    private let staging: DirectoryHandle
    private var linked: [EntryMetadata.Link: (entry: TreeEntry, folder: [UInt8])] = [:]
    private var problemCount = 0
    private var firstProblem: Message?
    private let unchanged: Set<UInt64>

    /// - Parameter unchanged: the inodes of files that have all of it already (`UnchangedMedia`).
    init(_ media: StoredMedia, stagedIn path: String, without unchanged: Set<UInt64> = []) throws(BackupError) {
        self.media = media
        self.unchanged = unchanged
        staging = try DirectoryHandle(path: path, followsLink: false)
    }

    // MARK: Hard links

    /// Makes hard links of staged files that were names of one file. Call it before the staged entries are recorded: it changes
    /// inodes.
    mutating func link() throws(BackupError) {
        var cursor = TreeCursor(media.root, in: media.repository)
        // `isChanged`: a link in the folder changed the folder's modification time.
        var folders = [(handle: staging, isChanged: false)]
        // The second walk reports unreadable folders.
        while let step = cursor.nextReadable() {
            let folder = folders[folders.count - 1].handle
            switch step {
            case .entry(let entry):
                if entry.kind == .directory {
                    if let inner = try folder.openFolder(entry.name) {
                        folders.append((inner, false))
                    } else {
                        cursor.skipFolder()
                    }
                } else if let link = entry.metadata?.link, try isStaged(entry, folder) {
                    if let first = linked[link], first.entry.isSameFile(as: entry) {
                        if try replace(entry, folder, with: first) { folders[folders.count - 1].isChanged = true }
                    } else if linked[link] == nil {
                        linked[link] = (entry, BytePath.folder(of: cursor.path))
                    }
                }
            case .end(let entry):
                guard folders.removeLast().isChanged, let status = try? folder.descriptor.status() else { continue }
                try folder.finish(permissions: mode_t(status.mode & 0o7777), modificationTime: entry.modificationTime)
            }
        }
    }

    private func isStaged(_ entry: TreeEntry, _ folder: DirectoryHandle) throws(BackupError) -> Bool {
        guard let status = try folder.statusIfPresent(entry.name) else { return false }
        return status.kind == .regular && status.size == entry.size
    }

    /// - Returns: false where the file system has no hard links, or allows no more for this file: then it stays a separate file.
    private func replace(
        _ entry: TreeEntry, _ folder: DirectoryHandle, with first: (entry: TreeEntry, folder: [UInt8])
    ) throws(BackupError) -> Bool {
        guard let source = try staging.openFolder(at: BytePath.components(of: first.folder)[...]) else { return false }
        let temporary = FileName(".backupfs-link-\(RandomToken.make())")
        do {
            try source.link(first.entry.name, in: folder, as: temporary)
        } catch {
            return false
        }
        try folder.removeFile(entry.name)
        try folder.move(temporary, to: folder, as: entry.name)
        return true
    }

    // MARK: Owners and extended attributes

    /// - Returns: a warning about files that could not get all of theirs.
    mutating func restoreAttributes() throws(BackupError) -> Message? {
        var cursor = TreeCursor(media.root, in: media.repository)
        var folders = [staging]
        // The files of a folder that cannot be read may have come another way.
        while let step = cursor.nextReadable({ record($0, $1) }) {
            let (folder, path) = (folders[folders.count - 1], cursor.path)
            switch step {
            case .entry(let entry) where entry.kind == .directory:
                if let inner = try folder.openFolder(entry.name) { folders.append(inner) } else { cursor.skipFolder() }
            case .entry(let entry): try restoreAttributes(entry, folder, path)
            case .end(let entry):
                folders.removeLast()
                guard let metadata = entry.metadata, let status = try? folder.descriptor.status() else { continue }
                record(give(metadata.owner) { (owner) throws(BackupError) in try folder.descriptor.setOwner(owner) }, path)
                record(
                    folder.descriptor.setExtendedAttributes(
                        metadata.extendedAttributes, permissions: mode_t(status.mode & 0o7777)), path)
            }
        }
        guard let firstProblem else { return nil }
        return .plural(
            problemCount, one: "\(problemCount) media file lacks extended attributes, or its owner: \(firstProblem)",
            other: "\(problemCount) media files lack extended attributes, or their owners; the first: \(firstProblem)")
    }

    /// Of a file or link; those of a folder are set at its end.
    private mutating func restoreAttributes(_ entry: TreeEntry, _ folder: DirectoryHandle, _ path: [UInt8]) throws(BackupError) {
        guard let metadata = entry.metadata else { return }
        if entry.kind == .symbolicLink {
            guard let owner = metadata.owner, try folder.statusIfPresent(entry.name) != nil else { return }
            return record(give(owner) { (owner) throws(BackupError) in try folder.setOwner(of: entry.name, owner) }, path)
        }
        guard try isStaged(entry, folder), let file = try folder.openFileIfPresent(entry.name), let status = try? file.status(),
            !unchanged.contains(status.inode)
        else {
            return
        }
        record(give(metadata.owner) { (owner) throws(BackupError) in try file.setOwner(owner) }, path)
        record(file.setExtendedAttributes(metadata.extendedAttributes, permissions: mode_t(status.mode & 0o7777)), path)
    }

    /// Only root can change a file's owner.
    private func give(_ owner: FileOwner?, _ body: (FileOwner) throws(BackupError) -> Void) -> BackupError? {
        guard let owner, geteuid() == 0 else { return nil }
        do throws(BackupError) {
            try body(owner)
            return nil
        } catch {
            return error
        }
    }

    private mutating func record(_ error: BackupError?, _ path: [UInt8]) {
        guard let error else { return }
        problemCount += 1
        if firstProblem == nil { firstProblem = "\(MessageText.name(path)): \(error.message)" }
    }
}
