import BackupCore
import SystemIO

/// Reads chunks from packs, whole or in part, and never returns an unverified byte. Thread-safe; no lock is held while it reads,
/// expands or checks.
final class ChunkReader: Sendable {
    private static let expandedCacheBytes = 16 << 20
    private static let openedCacheBytes = 16 << 20
    /// Stored bytes are checked in pieces of this size, which stay in the processor's cache.
    private static let checkPieceBytes = 128 << 10

    let packs: PackFiles
    private let catalog: Catalog
    let protection: RepositoryProtection
    private let checked = CheckedChunks()
    /// Stored bytes of sealed chunks that are read in parts; raw chunks are in `expanded`.
    private let opened = ShardedCache<SealedChunkKey, [UInt8]>(shardCount: 4, costLimit: openedCacheBytes)
    private let expanded = ShardedCache<ChunkID, [UInt8]>(shardCount: 8, costLimit: expandedCacheBytes)

    init(packs: PackFiles, catalog: Catalog, protection: RepositoryProtection) {
        self.packs = packs
        self.catalog = catalog
        self.protection = protection
    }

    /// All plain bytes of a chunk.
    /// - Throws: `repositoryDamaged` naming the chunk and its pack.
    func plainBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        if chunk.codec != .raw || protection.isSealing {
            return try withAnyEncoding(chunk) { (place) throws(BackupError) in
                if place.codec != .raw || protection.isSealing { return try expandedBytes(place) }
                return try rawBytes(place)
            }
        }
        return try rawBytes(chunk)
    }

    private func rawBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(chunk.plainLength))
        try bytes.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in try readPlain(chunk, at: 0, into: buffer) }
        return bytes
    }

    /// All plain bytes of a chunk that is unlikely to be read again soon: they bypass the cache.
    func plainBytesOnce(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        if chunk.codec == .raw, !protection.isSealing { return try plainBytes(chunk) }
        return try withReadableCopy(chunk) { (place) throws(BackupError) in try expand(place) }
    }

    /// Fills `buffer` with a chunk's plain bytes from `offset` on; the range must be inside the chunk.
    func readPlain(
        _ chunk: StoredChunk, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        guard offset >= 0, offset + buffer.count <= Int(chunk.plainLength) else { throw Self.outOfRange(chunk) }
        try withAnyEncoding(chunk) { (place) throws(BackupError) in
            if place.codec == .raw {
                try readStored(place, at: offset, into: buffer)
            } else {
                let bytes = try expandedBytes(place)
                bytes.withUnsafeBytes { plain in
                    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: plain[offset..<offset + buffer.count]))
                }
            }
        }
    }

    /// Fills `buffer` with a chunk's stored bytes from `offset` on; the range must be inside the chunk.
    func readStored(
        _ chunk: StoredChunk, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        guard offset >= 0, offset + buffer.count <= Int(chunk.storedLength) else { throw Self.outOfRange(chunk) }
        if protection.isSealing { return try readSealed(chunk, at: offset, into: buffer) }
        try withReadableCopy(chunk) { (place) throws(BackupError) in
            let file = try packs.open(place.pack)
            if checked.contains(place) {
                guard try file.read(at: place.packOffset + UInt64(offset), into: buffer) == buffer.count else {
                    throw damage(place, "the pack ends within it")
                }
            } else {
                try checkStored(place, file, copying: offset, into: buffer)
                checked.insert(place)
            }
        }
    }

    /// Makes the kernel read the chunk's stored bytes into its cache in the background.
    func expectReading(_ chunk: StoredChunk) {
        (try? packs.open(chunk.pack))?.expectReading(at: chunk.packOffset, count: UInt64(chunk.storedLength))
    }

    private static func outOfRange(_ chunk: StoredChunk) -> BackupError {
        BackupError(.invalidArgument, "a read goes beyond the end of chunk \(chunk.id)")
    }
}

// MARK: - Checking and expanding

extension ChunkReader {
    /// Reads all stored bytes and compares them with their CRC-32; copies those from `offset` on that fit into `buffer`.
    private func checkStored(
        _ chunk: StoredChunk, _ file: SharedFile, copying offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        let total = Int(chunk.storedLength)
        if offset == 0, buffer.count == total {
            try read(chunk, file, at: 0, into: buffer)
            guard CRC32.of(UnsafeRawBufferPointer(buffer)) == chunk.storedCRC32 else { throw crcDamage(chunk) }
            return
        }
        let scratch = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(Self.checkPieceBytes, total - buffer.count), alignment: 16)
        defer { scratch.deallocate() }
        let wantedEnd = offset + buffer.count
        var crc: UInt32 = 0
        var position = 0
        while position < total {
            // Requested bytes are read directly into the buffer, in pieces that are still in the processor's cache when they are
            // checked.
            let part: UnsafeMutableRawBufferPointer
            if position >= offset, position < wantedEnd {
                let start = position - offset
                part = UnsafeMutableRawBufferPointer(rebasing: buffer[start..<min(start + Self.checkPieceBytes, buffer.count)])
            } else {
                let end = position < offset ? offset : total
                part = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(scratch.count, end - position)])
            }
            try read(chunk, file, at: position, into: part)
            crc = CRC32.update(crc, UnsafeRawBufferPointer(part))
            position += part.count
        }
        guard crc == chunk.storedCRC32 else { throw crcDamage(chunk) }
    }

    func read(
        _ chunk: StoredChunk, _ file: SharedFile, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        guard try file.read(at: chunk.packOffset + UInt64(offset), into: buffer) == buffer.count else {
            throw damage(chunk, "the pack ends within it")
        }
    }

    private func expandedBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        if let bytes = expanded.value(for: chunk.id) { return bytes }
        let bytes = try withReadableCopy(chunk) { (place) throws(BackupError) in try expand(place) }
        expanded.insert(bytes, for: chunk.id, cost: bytes.count)
        return bytes
    }

    /// Expands a compressed chunk from its stored bytes, bypassing all caches.
    private func expand(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        let stored = try storedBytes(chunk)
        if chunk.codec == .raw { return stored }
        let base = try baseBytes(of: chunk)
        var expander = ChunkExpander()
        guard let plain = expander.expand(stored, chunk.codec, plainLength: Int(chunk.plainLength), base: base) else {
            throw damage(chunk, "its compressed bytes do not expand")
        }
        guard CRC32.of(plain) == chunk.plainCRC32 else { throw crcDamage(chunk) }
        return plain
    }

    /// The plain bytes of the chunk that a chunk is stored against; empty for a chunk that is stored whole.
    func baseBytes(of chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        guard let base = chunk.base else { return [] }
        let located = try catalog.locate([base])
        guard let place = located.first, !place.codec.needsBase else {
            throw damage(chunk, "its base \(base) is itself stored against a base")
        }
        return try plainBytes(place)
    }

    /// Closes a pack that was replaced.
    func forget(_ pack: PackID) { packs.forget(pack) }

    private func crcDamage(_ chunk: StoredChunk) -> BackupError { damage(chunk, "its CRC-32 is wrong") }

    func damage(_ chunk: StoredChunk, _ reason: Message) -> BackupError {
        BackupError(
            .repositoryDamaged, "chunk \(chunk.id) is damaged: \(reason)", path: packs.path(of: chunk.pack),
            remedy: "Other files are not affected. Copy this pack back from another copy of the repository, if there is one.")
    }
}

// MARK: - Finding another place

extension ChunkReader {
    /// Runs `body` with the chunk. If its pack is gone or its bytes are damaged, retries with every other place where the same
    /// stored bytes should be: packs are rewritten while files are open, and a catalog may be wrong.
    private func withReadableCopy<Result>(
        _ chunk: StoredChunk, _ body: (StoredChunk) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        do {
            return try body(chunk)
        } catch {
            packs.forget(chunk.pack)
            guard error.code == .repositoryDamaged || error.code == .notFound else {
                // The file may be open on a disk that was taken away, and is there again. A server has been asked again already.
                if error.code == .inputOutput, !packs.areCached, let result = try? body(chunk) { return result }
                throw error
            }
            if error.code == .repositoryDamaged, try packs.reopen(chunk.pack), let result = try? body(chunk) { return result }
            for place in otherPlaces(of: chunk, after: error) {
                if let result = try? body(place) { return result }
            }
            guard error.code == .notFound else { throw error }
            // The folder is listed only now: files opened before their pack was rewritten get here on every read.
            _ = try? catalog.layout.packSource?.findPacks()
            try? catalog.reconcile()
            for place in otherPacks(with: chunk) {
                if let result = try? body(place) { return result }
            }
            throw damage(chunk, "its pack is missing")
        }
    }

    private func otherPlaces(of chunk: StoredChunk, after error: BackupError) -> [StoredChunk] {
        var places: [StoredChunk] = []
        // The pack's own index, in case the catalog was wrong.
        if error.code == .repositoryDamaged, let file = try? packs.open(chunk.pack),
            let index = try? PackIndex.read(file, pack: chunk.pack, protection: protection)
        {
            places += index.storedChunks(in: chunk.pack).filter { $0 != chunk && Self.isSame($0, chunk) }
        }
        return places + otherPacks(with: chunk)
    }

    /// The other packs that should have the same stored bytes.
    private func otherPacks(with chunk: StoredChunk) -> [StoredChunk] {
        let places = (try? catalog.locations(of: chunk.id)) ?? []
        return places.filter { $0.pack != chunk.pack && Self.isSame($0, chunk) }
    }

    /// The caller relies on the lengths it already has.
    private static func isSame(_ place: StoredChunk, _ chunk: StoredChunk) -> Bool {
        place.id == chunk.id && place.codec == chunk.codec && place.storedLength == chunk.storedLength
            && place.plainLength == chunk.plainLength && place.base == chunk.base
    }

    /// Runs `body` with the chunk. If no copy of its stored bytes is left, retries with every
    /// place where it is stored in another form: for plain bytes the form does not matter.
    private func withAnyEncoding<Result>(
        _ chunk: StoredChunk, _ body: (StoredChunk) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        do {
            return try body(chunk)
        } catch {
            guard error.code == .repositoryDamaged else { throw error }
            for place in (try? catalog.locations(of: chunk.id)) ?? [] where !Self.isSame(place, chunk) {
                if place.plainLength == chunk.plainLength, let result = try? body(place) { return result }
            }
            throw error
        }
    }
}

/// Reading sealed chunks: any part of one requires opening all of it.
extension ChunkReader {
    /// As `readStored`. A whole chunk is read directly; parts come from a cache, since further parts are usually read next.
    private func readSealed(
        _ chunk: StoredChunk, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        if buffer.count == Int(chunk.storedLength) {
            try withReadableCopy(chunk) { (place) throws(BackupError) in try readStoredBytes(place, into: buffer) }
            return
        }
        let bytes = chunk.codec == .raw ? try expandedBytes(chunk) : try openedBytes(chunk)
        bytes.withUnsafeBytes { stored in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: stored[offset..<offset + buffer.count]))
        }
    }

    private func openedBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        if let bytes = opened.value(for: SealedChunkKey(chunk)) { return bytes }
        let bytes = try withReadableCopy(chunk) { (place) throws(BackupError) in try storedBytes(place) }
        opened.insert(bytes, for: SealedChunkKey(chunk), cost: bytes.count)
        return bytes
    }

    /// All stored bytes of a chunk, bypassing all caches; opened if they are sealed, otherwise not verified.
    private func storedBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        var stored = [UInt8](repeating: 0, count: Int(chunk.storedLength))
        try stored.withUnsafeMutableBytesThrowing { (buffer) throws(BackupError) in try readStoredBytes(chunk, into: buffer) }
        return stored
    }

    private func readStoredBytes(
        _ chunk: StoredChunk, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        let file = try packs.open(chunk.pack)
        guard protection.isSealing else { return try read(chunk, file, at: 0, into: buffer) }
        var frame = [UInt8](repeating: 0, count: AESGCM.overheadByteCount)
        let isGenuine = try frame.withUnsafeMutableBytesThrowing { (frame) throws(BackupError) in
            let nonce = UnsafeMutableRawBufferPointer(rebasing: frame[..<AESGCM.nonceByteCount])
            let tag = UnsafeMutableRawBufferPointer(rebasing: frame[AESGCM.nonceByteCount...])
            try read(chunk, file, at: 0, into: nonce)
            // Opened in the destination: the bytes are copied once.
            try read(chunk, file, at: nonce.count, into: buffer)
            try read(chunk, file, at: nonce.count + buffer.count, into: tag)
            return protection.open(PackEntry(chunk), buffer, frame: UnsafeRawBufferPointer(frame))
        }
        guard isGenuine else { throw damage(chunk, "it does not open with the repository's key") }
    }
}

/// The cache key for the stored bytes of a sealed chunk. A chunk may be stored in different forms at different places.
struct SealedChunkKey: Hashable {
    let pack: PackID
    let offset: UInt64

    init(_ chunk: StoredChunk) {
        pack = chunk.pack
        offset = chunk.packOffset
    }
}

/// Remembers the chunks whose stored bytes have been compared with their CRC-32, so that each is checked only at its first use.
final class CheckedChunks: Sendable {
    private final class Shard: Sendable {
        let keys = Monitor<Set<UInt64>>([])
    }

    private static let shardCount = 16
    /// A full shard is emptied, and its chunks are checked once more: 512 Ki chunks are remembered in about 10 MB.
    private static let shardLimit = 32 << 10

    private let shards = (0..<shardCount).map { _ in Shard() }

    /// A chunk in its place, as one number. If two collide, the second one is not checked.
    private static func key(_ chunk: StoredChunk) -> UInt64 {
        let id = chunk.id.digest.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        let pack = chunk.pack.digest.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        return id ^ (pack &* 0x9e37_79b9_7f4a_7c15) ^ (chunk.packOffset &* 0xbf58_476d_1ce4_e5b9)
    }

    func contains(_ chunk: StoredChunk) -> Bool {
        let key = Self.key(chunk)
        return shards[Int(key % UInt64(Self.shardCount))].keys.withLock { $0.contains(key) }
    }

    func insert(_ chunk: StoredChunk) {
        let key = Self.key(chunk)
        shards[Int(key % UInt64(Self.shardCount))].keys.withLock { keys in
            if keys.count >= Self.shardLimit { keys.removeAll(keepingCapacity: true) }
            keys.insert(key)
        }
    }
}
