import BackupCore
import Synchronization
import SystemIO

/// Writes one pack: first the chunks to a temporary file as they come, then the index, then it publishes the pack by a rename.
/// After an error every call but `discard` fails with the same error: of several threads, any may be the one whose error is
/// reported.
///
/// `@unchecked Sendable`: only one thread uses it at a time, the one that took it out of its `OpenPack`.
final class PackWriter: @unchecked Sendable {
    /// Small chunks are gathered into writes of this size.
    private static let bufferByteCount = 1 << 20

    let kind: PackKind
    private let protection: RepositoryProtection
    private let temporaryPath: String
    private let descriptor: OwnedDescriptor
    private var entries: [PackEntry] = []
    private var buffer: [UInt8] = []
    /// Length of the pack so far, including the contents of `buffer`.
    private(set) var byteCount: UInt64
    /// Why it cannot be used any more; `nil` while it can.
    private var refusal: BackupError?
    /// Set once the pack has its name, if no pack had that name before.
    private var publishedPath: String?

    /// - Parameter temporaryFolder: on the same file system as the packs.
    init(kind: PackKind, temporaryFolder: String, protection: RepositoryProtection) throws(BackupError) {
        self.kind = kind
        self.protection = protection
        temporaryPath = "\(temporaryFolder)/\(RandomToken.make()).pack"
        descriptor = try PrivateFile.createFile(temporaryPath)
        buffer.reserveCapacity(Self.bufferByteCount)
        buffer.append(contentsOf: StoredPackIndex.header(kind: kind, isSealed: protection.isSealing))
        byteCount = UInt64(buffer.count)
    }

    var chunkCount: Int { entries.count }

    /// Adds a chunk that is not in the pack yet.
    /// - Parameter packed: its bytes as stored in the pack; sealed if the repository is encrypted.
    func append(_ entry: PackEntry, _ packed: UnsafeRawBufferPointer) throws(BackupError) {
        try usable { () throws(BackupError) in
            if buffer.count + packed.count > Self.bufferByteCount { try flush() }
            if packed.count >= Self.bufferByteCount {
                try descriptor.writeAll(packed)
            } else {
                buffer.append(contentsOf: packed)
            }
        }
        entries.append(entry)
        byteCount += UInt64(packed.count)
    }

    /// Completes the pack, makes it durable and publishes it under its name.
    /// - Parameters:
    ///   - upstream: the storage that keeps the repository, unless its folder does.
    ///   - doomed: names that it must not get: a prune may be removing the packs that have them.
    ///   - requireHeld: called just before the pack gets its name; throws if the lock is no longer held.
    func finish(
        packsFolder: String, upstream: (any RepositoryUpstream)? = nil, avoiding doomed: Set<PackID> = [],
        requireHeld: () throws(BackupError) -> Void = {}
    ) throws(BackupError) -> FinishedPack {
        var (index, indexBytes) = try makeIndex()
        // The name is that of the chunks, unless they are sealed: then it is random.
        if !protection.isSealing, doomed.contains(PackID(SHA256Hasher.hash(indexBytes))) {
            let filler = PackEntry.filler()
            try filler.bytes.withUnsafeBytesThrowing { (buffer) throws(BackupError) in try append(filler.entry, buffer) }
            (index, indexBytes) = try makeIndex()
        }
        let id = PackID(SHA256Hasher.hash(indexBytes))
        var isNew = true
        try usable { () throws(BackupError) in
            let footer = StoredPackIndex.footer(
                chunkByteCount: byteCount - UInt64(StoredPackIndex.headerByteCount), indexByteCount: indexBytes.count)
            try flush()
            try descriptor.writeAll(indexBytes)
            try descriptor.writeAll(footer)
            byteCount += UInt64(indexBytes.count + footer.count)
            if upstream == nil { try descriptor.synchronize() }
            // Verify the written file before other processes can see it.
            let file = try SharedFile(path: temporaryPath)
            guard file.size == byteCount, try PackIndex.read(file, pack: id, protection: protection).entries == entries else {
                throw BackupError(.repositoryDamaged, "a pack did not come back as it was written", path: temporaryPath)
            }
            try FaultInjection.reached("backup.pack-written")
            if let upstream {
                file.startWritingBack()
                try requireHeld()
                isNew = try upstream.add(id, from: temporaryPath)
                return
            }
            let folder = RepositoryLayout.packFolder(of: id, in: packsFolder)
            let path = RepositoryLayout.packPath(of: id, in: packsFolder)
            try PrivateFile.makeFolder(folder)
            isNew = try !FileSystem.exists(path)
            try requireHeld()
            try FileSystem.rename(temporaryPath, to: path)
            if isNew { publishedPath = path }
            try FileSystem.synchronizeDirectory(folder)
            // Also if the folder existed: the process that created it may have died before its name was durable.
            try FileSystem.synchronizeDirectory(packsFolder)
        }
        refusal = Self.finished
        try FaultInjection.reached("backup.pack-published")
        return FinishedPack(id: id, index: index, byteCount: byteCount, isNew: isNew)
    }

    private func makeIndex() throws(BackupError) -> (index: PackIndex, bytes: [UInt8]) {
        let index = PackIndex(kind: kind, entries: entries, isSealed: protection.isSealing)
        let header = StoredPackIndex.header(kind: kind, isSealed: protection.isSealing)
        return (index, try protection.seal(index.encode(), as: .packIndex(header: header)))
    }

    /// Removes the file, even if its publication failed after it had got its name.
    /// - Parameter requireHeld: if it throws, a published pack stays, and a prune removes it when it is not needed. The temporary
    ///   file has a unique name.
    func discard(requireHeld: () throws(BackupError) -> Void) {
        refusal = refusal ?? Self.finished
        if let publishedPath {
            let temporaryFolder = FileSystem.parentPath(temporaryPath)
            let packsFolder = FileSystem.parentPath(FileSystem.parentPath(publishedPath))
            try? PackRemoval(packsFolder: packsFolder, temporaryFolder: temporaryFolder).remove(
                publishedPath, requireHeld: requireHeld)
        }
        try? FileSystem.removeFile(temporaryPath)
    }

    private static let finished = BackupError(.invalidArgument, "a pack is written to after it was finished")

    private func flush() throws(BackupError) {
        guard !buffer.isEmpty else { return }
        try descriptor.writeAll(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func usable(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        if let refusal { throw refusal }
        do throws(BackupError) {
            try body()
        } catch {
            refusal = error
            throw error
        }
    }
}

/// A pack that is durable and published.
struct FinishedPack {
    let id: PackID
    let index: PackIndex
    /// Length of the file in bytes.
    let byteCount: UInt64
    /// False when a pack with this name existed before and was replaced by the same content: then the writer must not remove it.
    let isNew: Bool
}

/// The pack of one kind that chunks are currently added to. Thread-safe.
final class OpenPack: Sendable {
    /// A pack is published when it has reached this length.
    static let standardSizeBytes: UInt64 = 32 << 20
    /// A pack with many tiny chunks is published before its index gets large.
    static let chunkCountLimit = 65_536

    private let kind: PackKind
    private let layout: RepositoryLayout
    private let protection: RepositoryProtection
    private let packSizeBytes: UInt64
    private let writer = Mutex<PackWriter?>(nil)

    init(
        kind: PackKind, in layout: RepositoryLayout, _ protection: RepositoryProtection,
        packSizeBytes: UInt64 = standardSizeBytes
    ) {
        self.kind = kind
        self.layout = layout
        self.protection = protection
        self.packSizeBytes = packSizeBytes
    }

    /// Adds a chunk, to a new pack if there is none.
    /// - Parameter packed: its bytes as stored in the pack.
    /// - Returns: the pack, if this chunk has filled it: the caller owns it now and has to publish it.
    func append(_ entry: PackEntry, _ packed: UnsafeRawBufferPointer) throws(BackupError) -> PackWriter? {
        try writer.withLock { (writer) throws(BackupError) in
            let pack: PackWriter
            if let open = writer {
                pack = open
            } else {
                pack = try PackWriter(kind: kind, temporaryFolder: layout.temporary, protection: protection)
                writer = pack
            }
            try pack.append(entry, packed)
            guard pack.byteCount >= packSizeBytes || pack.chunkCount >= Self.chunkCountLimit else { return nil }
            writer = nil
            return pack
        }
    }

    /// Hands over the pack in its current state.
    func take() -> PackWriter? {
        writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
    }
}
