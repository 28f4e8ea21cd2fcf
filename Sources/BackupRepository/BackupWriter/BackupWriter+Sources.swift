import BackupCore
import SystemIO

extension BackupWriter {
    /// Stores a file that this program has derived from others, up to its end. One of 1 MiB or more gets no digests: its chunks
    /// prove its bytes, and `Repository.checksums(of:)` computes them when they are first asked for. A smaller one gets them,
    /// since they cost little here, and a folder of many files that are asked for at once would be slow.
    /// - Parameters: as of `store`.
    public func storeDerived(
        _ source: any ByteSource, policy: ChunkingPolicy, earlier: FileContent? = nil,
        progress: (UInt64) throws(BackupError) -> Void = { _ in }
    ) throws(BackupError) -> StoredDerivedFile {
        let blocks = ContentBlocks.make()
        let first = try readFirst(source, blocks, progress)
        if first.count < ContentBlocks.sizeBytes {
            let stored = try storeSmall(first, policy, earlier)
            return StoredDerivedFile(content: stored.content, recorded: .all(stored.checksums))
        }
        let (content, crc32, chunkCRC32s) = try storeLarge(
            source, first, blocks, policy, earlier, hashing: ContentCRC32Lane.self, keepsCRC32s: true, progress)
        return StoredDerivedFile(content: content, recorded: .crc32(crc32), chunkCRC32s: chunkCRC32s)
    }

    /// Reads the first block of a file.
    func readFirst(
        _ source: any ByteSource, _ blocks: BlockPool, _ progress: (UInt64) throws(BackupError) -> Void
    ) throws(BackupError) -> BlockPool.Block {
        let first = blocks.take()
        try cancellation?.check()
        first.count = try source.read(at: 0, into: first.writableBytes)
        try progress(UInt64(first.count))
        return first
    }

    /// Stores a file that is in one block, on the calling thread.
    func storeSmall(
        _ block: BlockPool.Block, _ policy: ChunkingPolicy, _ earlier: FileContent?
    ) throws(BackupError) -> StoredFile {
        let writer = makeContentWriter(policy, earlier: earlier)
        try writer.append(block.bytes)
        return try writer.finish()
    }

    /// Stores a file with all processors.
    /// - Parameters:
    ///   - first: the file's first block, from `blocks`.
    ///   - keepsCRC32s: whether to return those of the chunks.
    func storeLarge<Hashes: ContentHashing>(
        _ source: any ByteSource, _ first: BlockPool.Block, _ blocks: BlockPool, _ policy: ChunkingPolicy,
        _ earlier: FileContent?, hashing: Hashes.Type, keepsCRC32s: Bool = false,
        _ progress: (UInt64) throws(BackupError) -> Void
    ) throws(BackupError) -> (content: FileContent, sums: Hashes.Sums, chunkCRC32s: [UInt32]) {
        let pipeline = ContentPipeline<Hashes>(
            store: store, pool: workers, blocks: blocks, cutter: makeCutter(policy), policy: policy,
            base: makeMatcher(policy, earlier), keepsCRC32s: keepsCRC32s)
        let (content, sums) = try pipeline.run(first: first) { (offset, block) throws(BackupError) in
            try cancellation?.check()
            let count = try source.read(at: offset, into: block)
            try progress(UInt64(count))
            return count
        }
        return (content, sums, pipeline.crc32s)
    }
}
