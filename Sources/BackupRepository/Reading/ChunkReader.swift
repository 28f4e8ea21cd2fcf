import BackupCore
import SystemIO

/// Reads chunks from packs, whole or in part, and never returns an unverified byte. Thread-safe; no lock is held while it reads, expands or checks.
final class ChunkReader: Sendable {
    private static let expandedCacheBytes = 16 << 20
    private static let openedCacheBytes = 16 << 20
    /// Stored bytes are checked in pieces of this size, which stay in the processor's cache.
    private static let checkPieceBytes = 128 << 10
    /// The size of DEFLATE's window: only this much of a base is useful as a dictionary.
    static let dictionaryByteCount = 32 << 10

    let packs: PackFiles
    private let catalog: Catalog
    let protection: RepositoryProtection
    private let checked = CheckedChunks()
    /// Stored bytes of sealed chunks that are read in parts; raw chunks are in `expanded`.
    let opened = ShardedCache<SealedPlace, [UInt8]>(shardCount: 4, costLimit: openedCacheBytes)
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
            return try withAnyForm(chunk) { (place) throws(BackupError) in
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
        return try withWorkingPlace(chunk) { (place) throws(BackupError) in try expand(place) }
    }

    /// Fills `buffer` with a chunk's plain bytes from `offset` on; the range must be inside the chunk.
    func readPlain(
        _ chunk: StoredChunk, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(BackupError) {
        guard offset >= 0, offset + buffer.count <= Int(chunk.plainLength) else { throw Self.outOfRange(chunk) }
        try withAnyForm(chunk) { (place) throws(BackupError) in
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
        try withWorkingPlace(chunk) { (place) throws(BackupError) in
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
            // Requested bytes are read directly into the buffer, in pieces that are still in the processor's cache when they are checked.
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

    func expandedBytes(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        if let bytes = expanded.value(for: chunk.id) { return bytes }
        let bytes = try withWorkingPlace(chunk) { (place) throws(BackupError) in try expand(place) }
        expanded.insert(bytes, for: chunk.id, cost: bytes.count)
        return bytes
    }

    /// Expands a compressed chunk from its stored bytes, bypassing all caches.
    private func expand(_ chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        let stored = try storedBytes(chunk)
        if chunk.codec == .raw { return stored }
        let dictionary = try dictionary(for: chunk)
        guard let plain = ChunkDecoder.expand(stored, plainLength: Int(chunk.plainLength), dictionary: dictionary) else {
            throw damage(chunk, "its compressed bytes do not expand")
        }
        guard CRC32.of(plain) == chunk.plainCRC32 else { throw crcDamage(chunk) }
        return plain
    }

    /// The plain bytes that a chunk was compressed against; empty for a chunk that is stored whole.
    func dictionary(for chunk: StoredChunk) throws(BackupError) -> [UInt8] {
        guard let base = chunk.base else { return [] }
        let located = try catalog.locate([base])
        guard let place = located.first, place.codec != .deflateAgainstBase else {
            throw damage(chunk, "its base \(base) is itself stored against a base")
        }
        return Array(try plainBytes(place).suffix(Self.dictionaryByteCount))
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
    /// Runs `body` with the chunk. If its pack is gone or its bytes are damaged, retries with every other place where the same stored bytes should be: packs
    /// are rewritten while files are open, and a catalog may be wrong.
    func withWorkingPlace<Result>(
        _ chunk: StoredChunk, _ body: (StoredChunk) throws(BackupError) -> Result
    ) throws(BackupError) -> Result {
        do {
            return try body(chunk)
        } catch {
            guard error.code == .repositoryDamaged || error.code == .notFound else { throw error }
            packs.forget(chunk.pack)
            for place in otherPlaces(of: chunk, after: error) {
                if let result = try? body(place) { return result }
            }
            guard error.code == .notFound else { throw error }
            // The folder is listed only now: files opened before their pack was rewritten get here on every read.
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
    private func withAnyForm<Result>(
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
