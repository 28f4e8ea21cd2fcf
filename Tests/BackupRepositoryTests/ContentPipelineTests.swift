import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Large files that all threads of a pool store.
struct ContentPipelineTests {
    /// The first chunk waits in a queue that has room for it alone. Later ones are named by the thread that cuts them, and must
    /// wait for the first one before they can be stored.
    @Test(arguments: [0, 1, 3]) func `chunks that come before an earlier one are bounded`(threadCount: Int) throws {
        let folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        let writer = try repository.makeWriter()
        let policy = ChunkingPolicy.database(pageSizeBytes: 4_096)
        let bytes = TestData.random(48 << 20, seed: 7)
        let source = BytesSource(bytes)
        let blocks = ContentBlocks.make()
        let pipeline = ContentPipeline<ContentCRC32Lane>(
            store: writer.store, pool: WorkerPool(threadCount: threadCount, queueLimit: 1), blocks: blocks,
            cutter: writer.makeCutter(policy), policy: policy, base: nil)
        let first = blocks.take()
        first.count = try source.read(at: 0, into: first.writableBytes)
        let (content, crc32) = try pipeline.run(first: first) { (offset, block) throws(BackupError) in
            try source.read(at: offset, into: block)
        }
        #expect(pipeline.peakByteCount <= 16 << 20, "\(pipeline.peakByteCount)")
        let entry = TreeEntry.derivedFile(
            name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), content: content, crc32: crc32)
        try writer.commit(named: "one", entries: [entry])
        #expect(try repository.file("file", in: "one") == bytes)
    }
}
