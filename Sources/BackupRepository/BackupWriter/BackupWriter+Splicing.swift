import BackupCore
import SystemIO

/// Files most of whose bytes are those of an earlier version.
extension BackupWriter {
    /// Stores a derived file as `storeDerived` would: with the same chunks and lists. Of the earlier version, only what is beside
    /// new bytes is read.
    /// - Parameters:
    ///   - file: in which this is the earlier version.
    ///   - earlier: the earlier version's content.
    ///   - chunkCRC32s: of its chunks, in order.
    ///   - progress: called with the number of bytes of each piece that is done.
    /// - Returns: `nil` when that is not possible, and the file must be stored from its start: it is small, or chunks of the
    ///   earlier version are not there.
    /// - Throws: `repositoryDamaged` when what is read of the earlier version is damaged; errors of the source and of writing.
    public func storeSpliced(
        _ file: SplicedFile, earlier: FileContent, chunkCRC32s: [UInt32], policy: ChunkingPolicy,
        progress: (UInt64) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) -> StoredDerivedFile? {
        guard file.size >= UInt64(ContentBlocks.sizeBytes), let chunks = try earlierChunks(earlier, chunkCRC32s) else {
            return nil
        }
        let assembler = ContentAssembler(
            store: store, policy: policy, base: makeMatcher(policy, earlier), keepsCRC32s: true)
        let group = WorkGroup(workers)
        let splice = FileSplice(file, chunks)
        var isPossible = true
        do throws(BackupError) {
            isPossible = try splice.run(cutter: makeCutter(policy)) { (chunk) throws(BackupError) in
                try cancellation?.check()
                switch chunk {
                case .earlier(let chunk):
                    guard case .isStored = try assembler.append(chunk.id, length: Int(chunk.length), crc32: chunk.crc32) else {
                        return false
                    }
                    try progress(UInt64(chunk.length))
                case .new(let bytes):
                    let id = bytes.withUnsafeBytes { store.name(of: $0) }
                    if case .store(let similar) = try assembler.append(id, length: bytes.count, crc32: CRC32.of(bytes)) {
                        group.submit { [store] () throws(BackupError) in
                            try bytes.withUnsafeBytesThrowing { (plain) throws(BackupError) in
                                try store.store(
                                    id, plain, kind: policy.packKind, compression: policy.compression, similar: similar)
                            }
                        }
                    }
                    try progress(UInt64(bytes.count))
                }
                return !group.hasFailed
            }
        } catch {
            // Work in progress must end before the caller discards the backup.
            group.fail(error)
        }
        try group.wait()
        guard isPossible else { return nil }
        let content = try assembler.finish()
        guard content.size == file.size else {
            throw BackupError(.repositoryDamaged, "a file of \(file.size) bytes became \(content.size) bytes of chunks")
        }
        let sums = assembler.crc32s
        let crc32 = zip(sums, splice.chunkLengths).reduce(UInt32(0)) { sum, chunk in
            CRC32.combine(sum, chunk.0, secondLength: UInt64(chunk.1))
        }
        return StoredDerivedFile(content: content, recorded: .crc32(crc32), chunkCRC32s: sums)
    }

    private func earlierChunks(_ content: FileContent, _ crc32s: [UInt32]) throws(BackupError) -> [FileSplice.EarlierChunk]? {
        let elements = try repository.resolver.flatten(content)
        guard elements.count == crc32s.count else { return nil }
        var chunks: [FileSplice.EarlierChunk] = []
        chunks.reserveCapacity(elements.count)
        var start: UInt64 = 0
        for (element, crc32) in zip(elements, crc32s) {
            guard case .chunk(let id, let length) = element else { return nil }
            chunks.append(FileSplice.EarlierChunk(id: id, start: start, length: length, crc32: crc32))
            start += UInt64(length)
        }
        return chunks
    }
}

/// A file that consists of ranges of an earlier version and of new bytes.
public final class SplicedFile: ByteSource {
    /// A piece of it.
    public enum Piece: Sendable, Equatable {
        /// These bytes of the earlier version.
        case earlier(Range<UInt64>)
        /// These bytes of the source of new ones.
        case new(Range<UInt64>)

        var range: Range<UInt64> {
            switch self {
            case .earlier(let range), .new(let range): range
            }
        }
    }

    let pieces: [Piece]
    let starts: [UInt64]
    /// In bytes.
    public let size: UInt64
    private let earlier: any ByteSource
    private let new: any ByteSource

    /// - Parameters:
    ///   - pieces: all of the file, in order.
    ///   - earlier: the earlier version.
    ///   - new: the new bytes.
    public init(_ pieces: [Piece], earlier: any ByteSource, new: any ByteSource) {
        self.pieces = pieces.filter { !$0.range.isEmpty }
        self.earlier = earlier
        self.new = new
        var position: UInt64 = 0
        starts = self.pieces.map { piece in
            defer { position += UInt64(piece.range.count) }
            return position
        }
        size = position
    }

    /// The number of the piece that has this byte of the file.
    func piece(at position: UInt64) -> Int {
        var low = 0
        var high = starts.count
        while low < high {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    public func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        guard offset < size, !buffer.isEmpty else { return 0 }
        let index = piece(at: offset)
        let range = pieces[index].range
        let place = range.lowerBound + (offset - starts[index])
        let count = Int(min(UInt64(buffer.count), range.upperBound - place))
        let source = if case .earlier = pieces[index] { earlier } else { new }
        let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        guard try source.readFully(at: place, into: part) == count else {
            throw BackupError(.repositoryDamaged, "a file ends too early")
        }
        return count
    }
}

/// Cuts a spliced file. A chunk's end depends only on the bytes since its start, so from any end of a chunk on, the chunks of the
/// earlier version are those of the file for as long as both have the same bytes.
private final class FileSplice {
    struct EarlierChunk {
        let id: ChunkID
        let start: UInt64
        let length: UInt32
        let crc32: UInt32
        var end: UInt64 { start + UInt64(length) }
    }

    enum Chunk {
        case earlier(EarlierChunk)
        case new([UInt8])
    }

    /// How much is read at once beside a change.
    private static let blockBytes = 16 << 10

    private let file: SplicedFile
    private let chunks: [EarlierChunk]
    /// Of all chunks so far.
    private(set) var chunkLengths: [UInt32] = []

    init(_ file: SplicedFile, _ chunks: [EarlierChunk]) {
        self.file = file
        self.chunks = chunks
    }

    /// - Parameters:
    ///   - cutter: at the start of a file.
    ///   - take: receives each chunk; returns whether to go on.
    /// - Returns: whether all were taken.
    func run(cutter: ChunkCutter, _ take: (Chunk) throws(BackupError) -> Bool) throws(BackupError) -> Bool {
        var cutter = cutter
        var position: UInt64 = 0
        // What was read beyond the last chunk.
        var ahead: [UInt8] = []
        while position < file.size {
            if let chunk = earlierChunk(at: position) {
                ahead = []
                guard try take(.earlier(chunk)) else { return false }
                chunkLengths.append(chunk.length)
                position += UInt64(chunk.length)
                continue
            }
            let bytes = try nextChunk(at: position, &cutter, &ahead)
            guard try take(.new(bytes)) else { return false }
            chunkLengths.append(UInt32(bytes.count))
            position += UInt64(bytes.count)
        }
        return true
    }

    /// A chunk of the earlier version that begins at this position of the file, and that is in it as a whole.
    private func earlierChunk(at position: UInt64) -> EarlierChunk? {
        let piece = file.piece(at: position)
        guard case .earlier(let range) = file.pieces[piece] else { return nil }
        let place = range.lowerBound + (position - file.starts[piece])
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].start < place { low = middle + 1 } else { high = middle }
        }
        guard low < chunks.count, chunks[low].start == place, chunks[low].end <= range.upperBound else { return nil }
        // The last chunk may have ended only because the file did.
        if low == chunks.count - 1, position + UInt64(chunks[low].length) != file.size { return nil }
        return chunks[low]
    }

    private func nextChunk(
        at position: UInt64, _ cutter: inout ChunkCutter, _ ahead: inout [UInt8]
    ) throws(BackupError) -> [UInt8] {
        var scannedCount = 0
        while true {
            if let count = ahead.withUnsafeBytes({ cutter.scan(UnsafeRawBufferPointer(rebasing: $0[scannedCount...])) }) {
                let end = scannedCount + count
                defer { ahead.removeFirst(end) }
                return Array(ahead[..<end])
            }
            scannedCount = ahead.count
            let next = position + UInt64(ahead.count)
            guard next < file.size else {
                defer { ahead = [] }
                return ahead
            }
            ahead += try file.bytes(at: next, upTo: Int(min(UInt64(Self.blockBytes), file.size - next)))
        }
    }
}
