import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Reading ranges of a stored file.
struct StoredRangeTests {
    @Test func `any range has its bytes`() throws {
        let folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        let writer = try repository.makeWriter(packSizeBytes: 1 << 20)
        let rows = TestData.rows(120_000, seed: 3)
        let stored = try writer.store(rows, policy: .structuredText)
        #expect(stored.content.hasLists)
        let head = Array("head".utf8)
        let tail = Array("tail".utf8)
        let content = FileContent.concatenating([FileContent(literal: head), stored.content, FileContent(literal: tail)])
        let bytes = head + rows + tail
        try writer.commit(
            named: "first",
            entries: [
                .file(
                    name: "rows", mode: 0o600, modificationTime: Timestamp(seconds: 5), content: content,
                    checksums: ContentHasher.hash(bytes))
            ])
        let source = StoredRangeSource(content, in: repository)
        #expect(source.size == UInt64(bytes.count))
        var random = SeededGenerator(seed: 4)
        for _ in 0..<300 {
            let start = Int.random(in: 0...bytes.count + 5, using: &random)
            let count = [1, 7, 4_096, 300_000].randomElement(using: &random) ?? 1
            let expected = bytes[min(start, bytes.count)...].prefix(count)
            #expect(try source.bytes(at: UInt64(start), upTo: count).elementsEqual(expected), "\(start) \(count)")
        }
        for start in [0, head.count, bytes.count - tail.count, bytes.count - 1] {
            #expect(try source.bytes(at: UInt64(start), upTo: bytes.count).elementsEqual(bytes[start...]))
        }
    }

    @Test func `a missing chunk is an error, and its neighbours are read`() throws {
        let folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        let missing = ChunkID(SHA256Hasher.hash([1]))
        let content = FileContent(elements: [
            .literal(Array("before".utf8)), .chunk(missing, plainLength: 10), .literal(Array("after".utf8)),
        ])
        let source = StoredRangeSource(content, in: repository)
        #expect(try source.bytes(at: 0, upTo: 6) == Array("before".utf8))
        #expect(try source.bytes(at: 16, upTo: 6) == Array("after".utf8))
        #expect(errorCode { _ = try source.bytes(at: 5, upTo: 2) } == .repositoryDamaged)
    }
}
