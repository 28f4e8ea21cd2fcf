import BackupCore
import Glibc
import SystemIO

/// Writes one pack: chunks to a temporary file as they come, then the index, then publication by rename. For one thread at a
/// time. After an error it refuses everything but `discard`.
final class PackWriter {
    /// Small chunks are gathered to writes of this size.
    private static let bufferByteCount = 1 << 20

    let kind: PackKind
    private let protection: RepositoryProtection
    private let temporaryPath: String
    private let descriptor: OwnedDescriptor
    private var entries: [PackEntry] = []
    private var offsets: [UInt64] = []
    private var positions: [ChunkID: Int] = [:]
    private var buffer: [UInt8] = []
    /// Length of the pack so far, with what is still in `buffer`.
    private(set) var byteCount: UInt64
    private var isUsable = true

    /// - Parameter temporaryFolder: on the same file system as the packs.
    init(kind: PackKind, temporaryFolder: String, protection: RepositoryProtection = .none) throws(BackupError) {
        self.kind = kind
        self.protection = protection
        temporaryPath = "\(temporaryFolder)/\(RandomToken.make()).pack"
        descriptor = try OwnerOnly.createFile(temporaryPath)
        buffer.reserveCapacity(Self.bufferByteCount)
        buffer.append(contentsOf: PackIndex.header(kind: kind, isSealed: protection.isSealing))
        byteCount = UInt64(buffer.count)
    }

    var chunkCount: Int { entries.count }

    func contains(_ id: ChunkID) -> Bool { positions[id] != nil }

    /// The chunk as it will be stored; its pack has no name yet, so `pack` is all zeros.
    func storedChunk(_ id: ChunkID) -> StoredChunk? {
        positions[id].map { entries[$0].stored(in: .unpublished, at: offsets[$0]) }
    }

    /// Adds a chunk that is not there yet.
    /// - Parameter stored: its bytes as they are to lie in the pack: sealed, if the repository is encrypted.
    func append(_ entry: PackEntry, _ stored: UnsafeRawBufferPointer) throws(BackupError) {
        try usable { () throws(BackupError) in
            if buffer.count + stored.count > Self.bufferByteCount { try flush() }
            if stored.count >= Self.bufferByteCount {
                try descriptor.writeAll(stored)
            } else {
                buffer.append(contentsOf: stored)
            }
        }
        positions[entry.id] = entries.count
        entries.append(entry)
        offsets.append(byteCount)
        byteCount += UInt64(stored.count)
    }

    /// A chunk's stored bytes, read back from the unfinished pack.
    func storedBytes(_ id: ChunkID) throws(BackupError) -> [UInt8]? {
        guard let position = positions[id] else { return nil }
        try usable { () throws(BackupError) in try flush() }
        return try descriptor.readExactly(at: offsets[position], count: Int(entries[position].storedLength))
    }

    /// Completes the pack, makes it durable and publishes it under its name.
    func finish(packsFolder: String) throws(BackupError) -> FinishedPack {
        let index = PackIndex(kind: kind, entries: entries, isSealed: protection.isSealing)
        let header = PackIndex.header(kind: kind, isSealed: protection.isSealing)
        let indexBytes = try protection.seal(index.encode(), as: .packIndex(header: header))
        let id = PackID(SHA256Hasher.hash(indexBytes))
        var isNew = true
        try usable { () throws(BackupError) in
            let footer = PackIndex.footer(
                chunkByteCount: byteCount - UInt64(PackIndex.headerByteCount), indexByteCount: indexBytes.count)
            try flush()
            try descriptor.writeAll(indexBytes)
            try descriptor.writeAll(footer)
            byteCount += UInt64(indexBytes.count + footer.count)
            try descriptor.synchronize()
            // What a reader will see must be what was meant, before anybody can see it.
            let file = try SharedFile(path: temporaryPath)
            guard file.size == byteCount, try PackIndex.read(file, pack: id, protection: protection).entries == entries else {
                throw BackupError(.repositoryDamaged, "a pack did not come back as it was written", path: temporaryPath)
            }
            try FaultInjection.reached("backup.pack-written")
            let folder = RepositoryLayout.packFolder(of: id, in: packsFolder)
            let path = RepositoryLayout.packPath(of: id, in: packsFolder)
            try OwnerOnly.makeFolder(folder)
            isNew = !FileSystem.exists(path)
            try FileSystem.rename(temporaryPath, to: path)
            try FileSystem.synchronizeDirectory(folder)
            // Also when the folder was there: whoever made it may have died before its name was durable.
            try FileSystem.synchronizeDirectory(packsFolder)
        }
        isUsable = false
        try FaultInjection.reached("backup.pack-published")
        return FinishedPack(id: id, index: index, byteCount: byteCount, isNew: isNew)
    }

    /// Removes the temporary file.
    func discard() {
        isUsable = false
        _ = unlink(temporaryPath)
    }

    private func flush() throws(BackupError) {
        guard !buffer.isEmpty else { return }
        try descriptor.writeAll(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func usable(_ body: () throws(BackupError) -> Void) throws(BackupError) {
        guard isUsable else {
            throw BackupError(.invalidArgument, "a pack is written to after it failed or was finished", path: temporaryPath)
        }
        isUsable = false
        try body()
        isUsable = true
    }
}

extension PackID {
    /// Stands for a pack that is still being written.
    static let unpublished = PackID(SHA256Digest.zero)
}

extension SHA256Digest {
    fileprivate static let zero = [UInt8](repeating: 0, count: 32).withUnsafeBytes { SHA256Digest(exactBytes: $0) }
}
