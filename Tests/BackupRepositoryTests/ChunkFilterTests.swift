import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// The filter in front of the catalog.
@Suite struct ChunkFilterTests {
    private func id(_ number: Int) -> ChunkID { ChunkID(SHA256Hasher.hash(Array("chunk \(number)".utf8))) }

    @Test func nothingThatIsThereIsDenied() {
        let filter = ChunkFilter(expectedCount: 20_000)
        for number in 0..<20_000 { filter.insert(id(number)) }
        #expect((0..<20_000).allSatisfy { filter.mayContain(id($0)) })
        // With 16 bits and four probes for each: (1 - e^(-4/16))^4, a quarter of a percent.
        let passed = (20_000..<120_000).count { filter.mayContain(id($0)) }
        #expect(passed < 1_000, "\(passed) of 100,000")
        #expect((20_000..<20_100).contains { !filter.mayContain(id($0)) })
    }

    /// More chunks than the filter's threshold, some of them there and some new: each is stored once, in the first backup and in
    /// the second.
    @Test func eachChunkIsStoredOnce() throws {
        let folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        // Pieces of 16 KiB, which do not compress.
        let piece = 16_384
        let old = TestData.random(700 * piece, seed: 31)
        let new = TestData.random(300 * piece, seed: 32)
        // Small packs: many are published while others are being filled.
        try repository.makeWriter(packSizeBytes: 100_000).commit(
            named: "a", files: [("x", old, .database(pageSizeBytes: 512))])
        let writer = try repository.makeWriter(packSizeBytes: 100_000)
        let content = Array(old[(350 * piece)...]) + new + Array(old[..<(350 * piece)]) + new
        try writer.commit(named: "b", files: [("x", content, .database(pageSizeBytes: 512))])
        // And the lists of a thousand names of 37 bytes.
        #expect((new.count..<new.count + 100_000).contains(Int(writer.storedByteCount)), "\(writer.storedByteCount) bytes")
        #expect(try repository.file("x", in: "b") == content)
        let third = try repository.makeWriter()
        _ = try third.store(content, policy: .database(pageSizeBytes: 512))
        #expect(third.storedByteCount == 0)
    }
}
