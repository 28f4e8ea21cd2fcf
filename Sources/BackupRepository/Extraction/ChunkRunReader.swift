import BackupCore
import SystemIO

/// Reads whole chunks in the order in which they will be written, at disk speed: chunks that are neighbours in a pack take one
/// read, and a long chunk is read in pieces that fit into the processor's cache. One thread uses it.
///
/// `ChunkReader` handles every error: it knows other places where a chunk may be stored, and can report what is wrong.
struct ChunkRunReader: ~Copyable {
    private static let windowByteCount = 1 << 20
    /// Reading the gap between two wanted chunks costs less than another call.
    private static let gapLimitBytes: UInt64 = 32 << 10
    /// Chunks of this length or more are not read together with others.
    private static let longByteCount = 256 << 10

    private let reader: ChunkReader
    private let chunks: [StoredChunk]
    private var next = 0
    /// `nil` for packs that lie here.
    private var requests: PackRequests?
    private let window: UnsafeMutableRawBufferPointer
    /// How much longer a sealed chunk is in a pack than its stored bytes: a nonce precedes them and a tag follows.
    private let overhead: Int
    private var plain: UnsafeMutableRawBufferPointer
    /// The window's contents: bytes of `windowPack` from `windowStart` on.
    private var windowPack: PackID?
    private var windowStart: UInt64 = 0
    private var windowCount = 0
    private var inflater = SegmentInflater()

    init(_ chunks: [StoredChunk], _ reader: ChunkReader) {
        self.chunks = chunks
        self.reader = reader
        overhead = RepositoryProtection.overheadByteCount(isSealed: reader.protection.isSealing)
        if reader.packs.areCached {
            requests = PackRequests(chunks, overheadByteCount: overhead) { [packs = reader.packs] (pack, range) in
                (try? packs.open(pack))?.expectReading(at: range.lowerBound, count: UInt64(range.count))
            }
        }
        // A sealed chunk can only be opened as a whole.
        let longest = overhead == 0 ? 0 : overhead + Int(chunks.map(\.storedLength).max() ?? 0)
        window = .allocate(byteCount: max(Self.windowByteCount, longest), alignment: 4096)
        plain = .allocate(byteCount: 64 << 10, alignment: 16)
    }

    deinit {
        window.deallocate()
        plain.deallocate()
    }

    /// Passes the next chunk's plain bytes to `body`, in one or more pieces. Damage may be found after some of them were passed.
    /// - Returns: the chunk, or `nil` after the last one.
    mutating func readNext(
        _ body: (UnsafeRawBufferPointer) throws(ExtractionFailure) -> Void
    ) throws(ExtractionFailure) -> StoredChunk? {
        guard next < chunks.count else { return nil }
        let index = next
        next += 1
        requests?.reach(index)
        let chunk = chunks[index]
        guard !chunk.codec.needsBase, let file = try? reader.packs.open(chunk.pack) else {
            try giveSlowly(chunk, body)
            return chunk
        }
        // Damage in a cache can be read again, as long as no byte of the chunk has been passed on.
        if overhead == 0, chunk.storedLength >= Self.longByteCount, chunk.codec == .raw, !reader.packs.areCached {
            try giveLong(chunk, file, body)
        } else if let stored = storedBytes(index, file), let bytes = expanded(chunk, stored) {
            try body(bytes)
        } else {
            try giveSlowly(chunk, body)
        }
        return chunk
    }

    /// Skips chunks that are not wanted after all.
    mutating func skip(_ count: Int) { next += count }

    private func giveSlowly(
        _ chunk: StoredChunk, _ body: (UnsafeRawBufferPointer) throws(ExtractionFailure) -> Void
    ) throws(ExtractionFailure) {
        let bytes = try ExtractionFailure.reading { () throws(BackupError) in try reader.plainBytes(chunk) }
        try bytes.withUnsafeBytesThrowing { (bytes) throws(ExtractionFailure) in try body(bytes) }
    }

    /// The chunk's stored bytes, from the window, which is refilled if they are not in it.
    private mutating func storedBytes(_ index: Int, _ file: SharedFile) -> UnsafeRawBufferPointer? {
        let chunk = chunks[index]
        let length = Int(chunk.storedLength) + overhead
        guard length <= window.count else { return nil }
        let isInside =
            windowPack == chunk.pack && chunk.packOffset >= windowStart
            && chunk.packOffset + UInt64(length) <= windowStart + UInt64(windowCount)
        if !isInside {
            windowPack = nil
            let count = runLength(from: index)
            let part = UnsafeMutableRawBufferPointer(rebasing: window[..<count])
            guard let read = try? file.read(at: chunk.packOffset, into: part), read >= length else { return nil }
            windowPack = chunk.pack
            windowStart = chunk.packOffset
            windowCount = read
        }
        let start = Int(chunk.packOffset - windowStart)
        let packed = UnsafeMutableRawBufferPointer(rebasing: window[start..<start + length])
        return overhead == 0 ? UnsafeRawBufferPointer(packed) : opened(chunk, packed)
    }

    /// Opens a sealed chunk in the window, in place; `nil` when it is not genuine, or was already opened there.
    private func opened(_ chunk: StoredChunk, _ packed: UnsafeMutableRawBufferPointer) -> UnsafeRawBufferPointer? {
        let stored = UnsafeMutableRawBufferPointer(
            rebasing: packed[AESGCM.nonceByteCount..<packed.count - AESGCM.tagByteCount])
        let frame = Array(packed[..<AESGCM.nonceByteCount]) + Array(packed.suffix(AESGCM.tagByteCount))
        let isGenuine = frame.withUnsafeBytes { reader.protection.open(PackEntry(chunk), stored, frame: $0) }
        return isGenuine ? UnsafeRawBufferPointer(stored) : nil
    }

    /// The number of bytes that hold this chunk and the chunks that follow it closely in the same pack.
    private func runLength(from index: Int) -> Int {
        let start = chunks[index].packOffset
        var end = start + UInt64(Int(chunks[index].storedLength) + overhead)
        for chunk in chunks[(index + 1)...] {
            let chunkEnd = chunk.packOffset + UInt64(Int(chunk.storedLength) + overhead)
            guard chunk.pack == chunks[index].pack, chunk.packOffset >= start, chunk.storedLength < Self.longByteCount,
                chunk.packOffset <= end + Self.gapLimitBytes, chunkEnd - start <= UInt64(window.count)
            else { break }
            end = max(end, chunkEnd)
        }
        return Int(end - start)
    }

    /// The verified plain bytes of a chunk; `nil` when they are not those that were stored.
    private mutating func expanded(_ chunk: StoredChunk, _ stored: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let bytes: UnsafeRawBufferPointer
        if chunk.codec == .raw {
            bytes = stored
        } else {
            let length = Int(chunk.plainLength)
            if plain.count < length {
                plain.deallocate()
                plain = .allocate(byteCount: length, alignment: 16)
            }
            let output = UnsafeMutableRawBufferPointer(rebasing: plain[..<length])
            guard inflater.expand(stored, into: output) else { return nil }
            bytes = UnsafeRawBufferPointer(output)
        }
        return CRC32.of(bytes) == chunk.plainCRC32 ? bytes : nil
    }

    private mutating func giveLong(
        _ chunk: StoredChunk, _ file: SharedFile, _ body: (UnsafeRawBufferPointer) throws(ExtractionFailure) -> Void
    ) throws(ExtractionFailure) {
        // The window is used as scratch space.
        windowPack = nil
        let total = Int(chunk.storedLength)
        var crc: UInt32 = 0
        var position = 0
        while position < total {
            let part = UnsafeMutableRawBufferPointer(rebasing: window[..<min(Self.longByteCount, total - position)])
            let count = try ExtractionFailure.reading { () throws(BackupError) in
                try file.read(at: chunk.packOffset + UInt64(position), into: part)
            }
            guard count == part.count else { break }
            crc = CRC32.update(crc, UnsafeRawBufferPointer(part))
            try body(UnsafeRawBufferPointer(part))
            position += count
        }
        guard position == total, crc == chunk.plainCRC32 else {
            throw .content(BackupError(.repositoryDamaged, "chunk \(chunk.id) is damaged: its CRC-32 is wrong"))
        }
    }
}
