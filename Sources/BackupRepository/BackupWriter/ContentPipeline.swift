import BackupCore
import Synchronization
import SystemIO

/// The buffers that a large file is read into.
enum ContentBlocks {
    /// A file that is shorter is stored by the thread that reads it.
    static let sizeBytes = 1 << 20
    private static let limit = 6
    /// Of the chunks of a file that are cut and not stored yet: several of the largest ones.
    static let chunkLimitBytes = 16 << 20

    static func make() -> BlockPool { BlockPool(blockSizeBytes: sizeBytes, limit: limit) }
}

/// Stores one large file using all processors: while the calling thread reads, others hash, cut, compress and write. The blocks
/// read ahead limit the bytes that are not cut yet, and a budget those of chunks that are not stored yet: a chunk is stored when
/// all before it are named, and many others may be named while one waits in the pool's queue.
final class ContentPipeline<Hashes: ContentHashing>: Sendable {
    private let store: ChunkStore
    private let policy: ChunkingPolicy
    private let group: WorkGroup
    private let assembler: ContentAssembler
    private let blocks: BlockPool
    private let hashes: Hashes
    private let keepsCRC32s: Bool
    private let budget = ByteBudget(limitBytes: ContentBlocks.chunkLimitBytes)
    private let cutting: Mutex<Cutting>

    private struct Cutting {
        var cutter: ChunkCutter
        /// The start of a chunk whose end has not been found yet.
        var partial: [UInt8] = []
        var count = 0
    }

    /// - Parameters:
    ///   - blocks: from `ContentBlocks`; the file's first block may have been taken from it.
    ///   - keepsCRC32s: of each chunk, for `crc32s`.
    init(
        store: ChunkStore, pool: WorkerPool, blocks: BlockPool, cutter: ChunkCutter, policy: ChunkingPolicy,
        base: sending BaseMatcher?, keepsCRC32s: Bool = false
    ) {
        self.keepsCRC32s = keepsCRC32s
        self.store = store
        self.blocks = blocks
        self.policy = policy
        group = WorkGroup(pool)
        hashes = Hashes(group)
        assembler = ContentAssembler(store: store, policy: policy, base: base, keepsCRC32s: keepsCRC32s)
        cutting = Mutex(Cutting(cutter: cutter))
    }

    /// Stores a file.
    /// - Parameters:
    ///   - first: the file's first block.
    ///   - read: reads the next bytes into a block; fewer than its size only at the end of the file.
    /// - Returns: its content, and the sums of its bytes.
    func run(
        first: BlockPool.Block, read: (UInt64, UnsafeMutableRawBufferPointer) throws(BackupError) -> Int
    ) throws(BackupError) -> (content: FileContent, sums: Hashes.Sums) {
        let cutLane = SerialLane(group)
        var byteCount: UInt64 = 0
        var block = first
        do throws(BackupError) {
            while block.count > 0, !group.hasFailed {
                byteCount += UInt64(block.count)
                submit(block, cutLane)
                guard block.count == ContentBlocks.sizeBytes else { break }
                block = group.take(from: blocks)
                block.count = try read(byteCount, block.writableBytes)
            }
        } catch {
            // Work in progress must end before the caller discards the backup.
            group.fail(error)
        }
        cutLane.submit { [self] () throws(BackupError) in try emitRest() }
        try group.wait()
        let content = try assembler.finish()
        guard content.size == byteCount else {
            throw BackupError(.repositoryDamaged, "a file of \(byteCount) bytes became \(content.size) bytes of chunks")
        }
        return (content, hashes.finish())
    }

    /// The largest number of bytes of chunks that were cut and not stored yet, so far.
    var peakByteCount: Int { budget.peakByteCount }

    /// Of the file's chunks, once it is stored; empty unless they are kept.
    var crc32s: [UInt32] { assembler.crc32s }

    private func submit(_ block: BlockPool.Block, _ cutLane: SerialLane) {
        cutLane.submit { [self] () throws(BackupError) in try cut(block.bytes) }
        hashes.submit(block)
    }

    private func cut(_ bytes: UnsafeRawBufferPointer) throws(BackupError) {
        cutting.withLock { cutting in
            var rest = bytes
            while !rest.isEmpty {
                guard let count = cutting.cutter.scan(rest) else {
                    cutting.partial.append(contentsOf: rest)
                    break
                }
                cutting.partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<count]))
                emit(&cutting)
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    private func emitRest() throws(BackupError) {
        cutting.withLock { cutting in
            if !cutting.partial.isEmpty { emit(&cutting) }
        }
    }

    private func emit(_ cutting: inout Cutting) {
        let bytes = cutting.partial
        let index = cutting.count
        cutting.partial = []
        cutting.partial.reserveCapacity(min(bytes.count, ContentBlocks.sizeBytes))
        cutting.count += 1
        // The chunks before it have all been submitted, so that those in use get stored without it.
        let share = group.share(bytes, of: budget)
        group.submit { [self] () throws(BackupError) in try name(share, index) }
    }

    private func name(_ share: ByteBudget.Share, _ index: Int) throws(BackupError) {
        let id = share.bytes.withUnsafeBytes { store.name(of: $0) }
        let named = ContentAssembler.NamedChunk(id: id, share: share, crc32: keepsCRC32s ? CRC32.of(share.bytes) : 0)
        var ready = Array(try assembler.insert(named, at: index).reversed())
        // One by one: each is let go as soon as it is stored.
        while let (chunk, similar) = ready.popLast() {
            group.submit { [self] () throws(BackupError) in
                try chunk.share.bytes.withUnsafeBytesThrowing { (plain) throws(BackupError) in
                    try store.store(
                        chunk.id, plain, kind: policy.packKind, compression: policy.compression, similar: similar)
                }
            }
        }
    }
}
