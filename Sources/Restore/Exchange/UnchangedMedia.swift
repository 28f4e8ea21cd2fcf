import AppData
import BackupCore
import BackupRepository
import Formats
import Glibc
import SnapshotFormats
import SystemIO

/// Files of an archive that the media folder has already, with the same bytes, mode, owner, times and extended attributes. A
/// restore that replaces the media does not write them: among the staged entries they get a second name, a hard link. So a
/// restore needs only the time and the room of what differs (decision 72).
///
/// The link is the app's own file. What a program writes to it until the records are committed would be restored, so a lease
/// keeps programs from writing while the link is made, and `refresh` looks once more right before the commit. A write after it
/// is one to the restored file.
final class UnchangedMedia {
    /// A linked file, as it was after the link was made.
    private struct Link {
        let inode: UInt64
        let size: UInt64
        let modificationTime: Timestamp
        let changeTime: Timestamp

        init(_ status: FileStatus) {
            (inode, size) = (status.inode, status.size)
            (modificationTime, changeTime) = (status.modificationTime, status.changeTime)
        }

        func isUnchanged(_ status: FileStatus) -> Bool {
            inode == status.inode && size == status.size && modificationTime == status.modificationTime
                && changeTime == status.changeTime
        }
    }

    private let media: FolderCursor
    private let staged: FolderCursor
    private let newPath: String
    private let stored: StoredMediaCatalog?
    private let saved: SavedMedia.Lookup
    /// The owner of restored files whose entries name none; `nil` where this program cannot set it.
    private let owner: FileOwner?
    /// For each file of the archive, in its order.
    private var links: [Link?] = []
    /// False once the file system has refused hard links.
    private var areLinksPossible = true
    private var refusedCount = 0
    /// The files that were linked last, to which no program can write.
    private var held: [Held] = []

    /// When the first of them was linked.
    private var heldSinceNanoseconds: UInt64 = 0

    /// Each takes a descriptor.
    private static let heldLimit = 256
    /// A program that wants to write to one of them waits.
    private static let heldLimitNanoseconds: UInt64 = 100_000_000
    /// To read a larger file takes too long for that.
    private static let quickSizeBytes: UInt64 = 8 << 20
    /// Some files may be refused for a reason of their own.
    private static let refusedLimit = 8

    private struct Held {
        let index: Int
        let file: SharedFile
        let lease: ReadLease
        let folder: DirectoryHandle
        let name: FileName
    }

    /// The size of the other files together.
    private(set) var newBytes: UInt64 = 0
    private(set) var newCount: UInt64 = 0

    /// - Parameters:
    ///   - newPath: the staging folder, which is empty.
    ///   - stored: the restored backup, if it is one of a repository.
    ///   - saved: the entries of the safety backup, which knows the bytes of files without reading them.
    init(
        in mediaPath: String, stagedIn newPath: String, stored: StoredMedia?, saved: @escaping SavedMedia.Lookup,
        owner: FileOwner?
    ) throws(BackupError) {
        media = try FolderCursor(mediaPath)
        staged = try FolderCursor(newPath)
        self.newPath = newPath
        self.stored = stored.map { StoredMediaCatalog($0.root, in: $0.repository) }
        self.saved = saved
        self.owner = owner
    }

    /// The inodes of the linked files.
    var inodes: Set<UInt64> { Set(links.lazy.compactMap { $0?.inode }) }

    /// Whether a file is staged already.
    /// - Parameter index: its place in the archive's order of media files.
    func isLinked(_ index: Int) -> Bool { links.indices.contains(index) && links[index] != nil }

    // MARK: Linking

    /// Links each file that the media folder has.
    func link(filesOf archive: ArchiveImport) throws(BackupError) {
        let places = try StagedPath(in: newPath)
        var databases: Set<[UInt8]> = []
        try archive.forEachMediaFile { (path, _) throws(BackupError) in
            if let database = DatabaseLogs.database(ofFile: path) { databases.insert(database) }
        }
        try archive.forEachCheckedMediaFile { (path, entry, digest) throws(BackupError) in
            try Cancellation.check()
            links.append(nil)
            if areLinksPossible, let digest, !databases.contains(path), !MediaUnit.mayBeDatabase(path) {
                try Self.unlessImpossible { () throws(BackupError) in try link(path, entry, digest, places) }
            }
            if held.count >= Self.heldLimit || hasHeldLong { try release() }
        }
        try release()
        var index = 0
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            defer { index += 1 }
            guard links[index] == nil else { return }
            let holes = try min(stored?.entry(at: path)?.metadata?.holeBytes ?? 0, entry.size)
            (newBytes, newCount) = (newBytes.addingSaturating(entry.size - holes), newCount + 1)
        }
    }

    /// A file that cannot be looked at is written, as if it were not there.
    private static func unlessImpossible(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        do throws(BackupError) {
            try body()
        } catch {
            guard error.code != .interrupted else { throw error }
        }
    }

    /// Links the file that is next, if the media folder has it.
    private func link(
        _ path: [UInt8], _ entry: ArchiveEntry, _ digest: SHA256Digest, _ places: StagedPath
    ) throws(BackupError) {
        // What the backup itself says of the file; a ZIP archive has only whole seconds.
        let known = try stored?.entry(at: path)
        guard let (folder, name) = try media.place(of: path), let seen = try folder.statusIfPresent(name),
            isAlike(seen, entry, known), try !hasLogs(name, folder), let file = try folder.openFileIfPresent(name)
        else { return }
        guard let proof = FileSystem.proofForLink(file), !folder.attributes(name).isUnchangeable else { return }
        let before = try file.status()
        let shared = try SharedFile(file)
        // Each later write shows in the change time, even if it sets the modification time back; but not a store through
        // mmap(2) into a dirty page.
        guard FileIdentity(before) == FileIdentity(seen), ReadLease.waitForTick(after: before.changeTime),
            isAlike(before, entry, known), shared.writeBack(),
            try SQLiteHeader(of: shared) == nil, try hasMetadata(of: entry, known, before, shared, digest),
            try isSame(
                ReplacedFile(name, in: folder, path: path, before, changeTime: before.changeTime), digest, proof)
        else { return }
        try places.makeDirectories(BytePath.folder(of: path))
        // The link changes the change time. Until that is a settled one as well, no program can write.
        guard let (target, _) = try staged.place(of: path), let lease = ReadLease(shared), try shared.status() == before else {
            return
        }
        do {
            try folder.link(name, in: target, as: name)
        } catch {
            refusedCount += [.notPermitted, .notSupported].contains(error.code) ? 1 : 0
            if refusedCount >= Self.refusedLimit, !links.contains(where: { $0 != nil }) { areLinksPossible = false }
            throw error
        }
        let after = try target.status(name)
        let index = links.count - 1
        links[index] = Link(after)
        if held.isEmpty { heldSinceNanoseconds = SystemClock.monotonicNanoseconds() }
        held.append(Held(index: index, file: shared, lease: lease, folder: target, name: name))
        // Another program may have replaced the file by another one, or given it one more name.
        if FileIdentity(after) != FileIdentity(before) || after.linkCount != 2 || !isAlike(after, entry, known) {
            try unlink(held.removeLast())
        }
    }

    private var hasHeldLong: Bool {
        !held.isEmpty && SystemClock.monotonicNanoseconds() - heldSinceNanoseconds > Self.heldLimitNanoseconds
    }

    /// Lets other programs write to the files that were linked last. Those to which one may have written are not linked any more.
    private func release() throws(BackupError) {
        let last = held.compactMap { links[$0.index]?.changeTime }.max()
        let isSettled = last.map { ReadLease.waitForTick(after: $0) } ?? true
        for one in held {
            guard isSettled, one.lease.isHeld, let link = links[one.index], link.isUnchanged(try one.file.status()) else {
                try unlink(one)
                continue
            }
        }
        held = []
    }

    private func unlink(_ one: Held) throws(BackupError) {
        // First: a link that cannot be removed must fail the restore, not count as the file.
        links[one.index] = nil
        try one.folder.removeFile(one.name)
    }

    /// Whether a file may be a database by what is beside it: they come and go together (`MediaUnit`).
    private func hasLogs(_ name: FileName, _ folder: DirectoryHandle) throws(BackupError) -> Bool {
        if DatabaseLogs.database(of: name) != nil { return true }
        for log in DatabaseLogs.names(of: name) where try folder.statusIfPresent(log) != nil { return true }
        return false
    }

    /// Without what a link changes.
    private func isAlike(_ status: FileStatus, _ entry: ArchiveEntry, _ known: TreeEntry?) -> Bool {
        guard status.kind == .regular, !entry.isSymbolicLink, status.linkCount <= 2, status.size == entry.size, entry.size > 0,
            [entry.modificationTime, known?.modificationTime].contains(status.modificationTime),
            let permissions = entry.permissions
        else { return false }
        // A staged file would get the second one.
        return [permissions & 0o1777, permissions & 0o1777 | 0o600].contains(status.mode & 0o7777)
    }

    /// Whether a file has what a restored one would get from the backup.
    private func hasMetadata(
        of entry: ArchiveEntry, _ known: TreeEntry?, _ status: FileStatus, _ file: SharedFile, _ digest: SHA256Digest
    ) throws(BackupError) -> Bool {
        // The names of one file are restored together.
        guard status.linkCount == 1 else { return false }
        if let known {
            guard known.kind == .file, known.size == entry.size, known.checksums?.sha256 ?? digest == digest,
                known.metadata?.link == nil
            else { return false }
        }
        if geteuid() == 0 {
            let owner = known?.metadata?.owner ?? owner
            guard owner == FileOwner(user: status.owner, group: status.group) else { return false }
        } else if status.owner != geteuid() {
            return false
        }
        let attributes = try file.withDescriptor { (file) throws(BackupError) in try file.extendedAttributes() }
        return attributes == known?.metadata?.extendedAttributes ?? []
    }

    /// The safety backup has read the file; otherwise, and where only the bytes are a proof, it is read.
    private func isSame(
        _ file: ReplacedFile, _ digest: SHA256Digest, _ proof: FileSystem.ChangeProof
    ) throws(BackupError) -> Bool {
        if proof == .changeTime, let entry = try saved(file.path), entry.isProven(file), let saved = entry.checksums?.sha256 {
            return saved == digest
        }
        if file.status.size > Self.quickSizeBytes { try release() }
        return try file.digest() == digest
    }

    // MARK: Looking once more

    /// Unpacks each linked file that a program has changed since, or that may have become a database with a log. Call it when
    /// nothing but the commit of the records is left.
    /// - Returns: whether there was one.
    func refresh(_ archive: ArchiveImport) throws(BackupError) -> Bool {
        var index = 0
        var isChanged = false
        try archive.forEachCheckedMediaFile { (path, entry, _) throws(BackupError) in
            defer { index += 1 }
            guard isLinked(index), let link = links[index], let (folder, name) = try staged.place(of: path) else { return }
            var isDatabase = false
            if let place = try media.place(of: path) { isDatabase = try hasLogs(place.name, place.folder) }
            if !isDatabase, let status = try folder.statusIfPresent(name), link.isUnchanged(status) { return }
            links[index] = nil
            isChanged = true
            try unpack(entry, at: path, as: name, in: folder, archive)
        }
        return isChanged
    }

    private func unpack(
        _ entry: ArchiveEntry, at path: [UInt8], as name: FileName, in folder: DirectoryHandle, _ archive: ArchiveImport
    ) throws(BackupError) {
        let folderTime = try folder.descriptor.status().modificationTime
        try folder.removeFile(name)
        let known = try stored?.entry(at: path)
        try archive.stage(entry, at: path, in: StagedPath(in: newPath), isSparse: known?.metadata?.holeBytes ?? 0 > 0)
        guard let file = try folder.openFileIfPresent(name) else { return }
        let status = try file.status()
        if geteuid() == 0, let owner = known?.metadata?.owner ?? owner { try file.setOwner(owner) }
        // Not worth a failed restore: the names and bytes are there.
        _ = file.setExtendedAttributes(known?.metadata?.extendedAttributes ?? [], permissions: mode_t(status.mode & 0o7777))
        try file.synchronize()
        try folder.descriptor.setModificationTime(folderTime)
        try folder.synchronize()
    }

    // MARK: Room

    /// The bytes and files that a restore has to write at least: those of files that are not there, or differ in size. Reads no
    /// file.
    static func leastNew(
        of archive: ArchiveImport, in mediaPath: String, holes: [[UInt8]: UInt64]
    ) throws(BackupError) -> (bytes: UInt64, count: UInt64) {
        let media = try FileSystem.look(mediaPath) == nil ? nil : try FolderCursor(mediaPath)
        var (bytes, count): (UInt64, UInt64) = (0, 0)
        try archive.forEachMediaFile { (path, entry) throws(BackupError) in
            if let (folder, name) = try? media?.place(of: path), let status = try? folder.statusIfPresent(name),
                status.kind == .regular, status.size == entry.size
            {
                return
            }
            bytes = bytes.addingSaturating(entry.size - min(holes[path] ?? 0, entry.size))
            count += 1
        }
        return (bytes, count)
    }
}
