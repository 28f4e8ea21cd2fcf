import BackupCore
import BackupRepository
import Glibc
import Synchronization
import SystemIO

/// Reads the extracted files of a backup and compares each with the backup's record of it.
final class FileTreeVerifier: Sendable {
    /// File systems store times with limited precision, at worst 2 seconds.
    private static let timeStepSeconds: Int64 = 2

    /// Files of one folder, for one thread.
    private struct Batch: Sendable {
        let folder: DirectoryHandle
        private(set) var files: [(entry: TreeEntry, path: [UInt8])] = []
        private var byteCount: UInt64 = 0

        init(folder: DirectoryHandle) { self.folder = folder }

        var isFull: Bool { files.count >= 128 || byteCount >= 16 << 20 }

        mutating func append(_ entry: TreeEntry, _ path: [UInt8]) {
            files.append((entry, path))
            byteCount = byteCount.addingSaturating(entry.size)
        }
    }

    private let repository: Repository
    private let isMissing: Set<FileName>
    /// The owner of media files whose entries name no other.
    private let mediaOwner: FileOwner?
    /// Whether all metadata can be restored here.
    private let expectsMetadata: Bool
    private let linked = Mutex<[EntryMetadata.Link: (entry: TreeEntry, inode: UInt64)]>([:])
    private let findings = Mutex<[Message]>([])

    /// - Parameters:
    ///   - missing: paths that are known to be missing.
    ///   - expectsMetadata: whether to require extended attributes, owners and hard links.
    init(_ repository: Repository, missing: [FileName], mediaOwner: FileOwner?, expectsMetadata: Bool) {
        self.repository = repository
        self.mediaOwner = mediaOwner
        self.expectsMetadata = expectsMetadata
        isMissing = Set(missing)
    }

    /// - Returns: the problems found, sorted.
    func run(_ root: Directory, in folder: String) throws(BackupError) -> [Message] {
        let pool = WorkerPool(queueLimit: 4)
        defer { pool.end() }
        let group = WorkGroup(pool)
        do {
            try check(root, DirectoryHandle(path: folder, followsLink: false), group)
        } catch {
            group.fail(error)
        }
        try group.wait()
        return findings.withLock { $0.sorted() }
    }

    private func add(_ path: [UInt8], _ problem: Message) {
        findings.withLock { $0.append("\(FileName(bytes: path)): \(problem)") }
    }

    private func check(_ root: Directory, _ target: DirectoryHandle, _ group: WorkGroup) throws(BackupError) {
        var cursor = TreeCursor(root, in: repository)
        // The open folders, and the files to check next in each.
        var batches = [Batch(folder: target)]
        while let step = try cursor.next() {
            guard case .entry(let entry) = step else {
                submit(batches.removeLast(), group)
                continue
            }
            let (folder, path) = (batches[batches.count - 1].folder, cursor.path)
            if isMissing.contains(FileName(bytes: path)) {
                cursor.skipFolder()
                continue
            }
            switch entry.kind {
            case .directory:
                guard let inner = try folder.openDirectoryIfPresent(entry.name) else {
                    add(path, "the folder is missing")
                    cursor.skipFolder()
                    continue
                }
                if expectsMetadata { try compare(entry, inner.descriptor.extendedAttributes(), inner.descriptor.status(), path) }
                batches.append(Batch(folder: inner))
            case .symbolicLink:
                if try folder.readLinkIfPresent(entry.name) != entry.linkTarget { add(path, "the link leads elsewhere") }
            case .file:
                batches[batches.count - 1].append(entry, path)
                if batches[batches.count - 1].isFull {
                    submit(batches.removeLast(), group)
                    batches.append(Batch(folder: folder))
                }
            }
        }
        submit(batches.removeLast(), group)
    }

    private func submit(_ batch: Batch, _ group: WorkGroup) {
        guard !batch.files.isEmpty else { return }
        group.submit { [self] () throws(BackupError) in
            for file in batch.files { try check(file.entry, batch.folder, file.path) }
        }
    }

    /// All four: the tree exposes each of them (`sums/`), and only a faulty writer makes a single one differ.
    private func compare(_ recorded: Checksums?, _ found: Checksums, _ path: [UInt8]) {
        guard recorded != found else { return }
        if recorded?.sha256 != found.sha256 { add(path, "its SHA-256 is not the recorded one") }
        if recorded?.sha1 != found.sha1 { add(path, "its SHA-1 is not the recorded one") }
        if recorded?.md5 != found.md5 { add(path, "its MD5 is not the recorded one") }
        if recorded?.crc32 != found.crc32 { add(path, "its CRC-32 is not the recorded one") }
    }

    private func check(_ entry: TreeEntry, _ folder: DirectoryHandle, _ path: [UInt8]) throws(BackupError) {
        guard let descriptor = try folder.openFileIfPresent(entry.name) else {
            add(path, "the file is missing")
            return
        }
        let file = try SharedFile(descriptor)
        let status = try file.status()
        if status.size != entry.size {
            add(path, "it has \(status.size) bytes instead of \(entry.size)")
        } else {
            let found = try SourceChecksums.of(file)
            if entry.checksums == nil, entry.crc32 != found.crc32 {
                add(path, "its CRC-32 is not the recorded one")
            } else {
                // Those of a derived file come from its chunks.
                do throws(BackupError) {
                    try compare(repository.checksums(of: entry), found, path)
                } catch let error where error.code == .repositoryDamaged {
                    add(path, error.message)
                }
            }
        }
        let difference = status.modificationTime.secondsSince(entry.modificationTime)
        if difference <= -Self.timeStepSeconds || difference >= Self.timeStepSeconds {
            add(path, "its modification time is not the recorded one")
        }
        if status.mode & 0o7777 != entry.restoredPermissions { add(path, "its mode is not the recorded one") }
        if expectsMetadata {
            try compare(entry, file.withDescriptor { (file) throws(BackupError) in try file.extendedAttributes() }, status, path)
        }
    }

    /// Compares the metadata.
    private func compare(
        _ entry: TreeEntry, _ attributes: [ExtendedAttribute], _ status: FileStatus, _ path: [UInt8]
    ) throws(BackupError) {
        if let recorded = entry.metadata?.extendedAttributes, !recorded.isEmpty, recorded != attributes {
            add(path, "its extended attributes are not the recorded ones")
        }
        let isMedia = path.starts(with: Array("media".utf8)) && (path.count == 5 || path[5] == UInt8(ascii: "/"))
        if geteuid() == 0, let owner = entry.metadata?.owner ?? (isMedia ? mediaOwner : nil),
            owner != FileOwner(user: status.owner, group: status.group)
        {
            add(path, "its owner is not the recorded one")
        }
        guard let link = entry.metadata?.link else { return }
        let first = linked.withLock { known in
            if known[link] == nil { known[link] = (entry, status.inode) }
            return known[link]
        }
        if let first, first.entry.isSameFile(as: entry), first.inode != status.inode {
            add(path, "it is no longer a hard link of another file")
        }
    }
}
