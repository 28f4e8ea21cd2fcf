import BackupCore
import Foundation
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct DeduplicationTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    private func storedBytes(_ name: FileName, _ files: [(FileName, [UInt8], ChunkingPolicy)]) throws -> UInt64 {
        let writer = try repository.makeWriter()
        try writer.commit(named: name, files: files)
        return writer.storedByteCount
    }

    @Test func theSameDataIsStoredOnce() throws {
        let photo = TestData.random(5_000_000, seed: 1)
        let first = try storedBytes("a", [("x", photo, .media), ("y", photo, .media)])
        #expect((5_000_000...5_010_000).contains(first))
        // A renamed photo costs a directory object.
        let second = try storedBytes("b", [("z", photo, .media)])
        #expect(second < 2_000)
        // The same again costs nothing at all.
        #expect(try storedBytes("c", [("z", photo, .media)]) == 0)
    }

    @Test func oneByteAtTheStartStoresFewChunks() throws {
        let photo = TestData.random(12_000_000, seed: 2)
        _ = try storedBytes("a", [("x", photo, .media)])
        #expect(try storedBytes("b", [("x", [1] + photo, .media)]) < 5_000_000)
        let rows = TestData.rows(100_000, seed: 3)
        let whole = try storedBytes("c", [("rows", rows, .structuredText)])
        let edited = try storedBytes("d", [("rows", [UInt8(ascii: " ")] + rows, .structuredText)])
        #expect(edited * 20 < whole)
    }

    @Test func oneChangedPageStoresOnePiece() throws {
        var pages = TestData.random(4_000_000, seed: 4)
        _ = try storedBytes("a", [("db", pages, .database(pageSizeBytes: 4096))])
        pages[2_000_000] ^= 1
        let stored = try storedBytes("b", [("db", pages, .database(pageSizeBytes: 4096))])
        #expect((16_384...30_000).contains(stored))
    }

    /// A folder of 10,000 files of which one changes: a few chunks of its directory object.
    @Test func oneChangedFileLeavesMostOfTheFolder() throws {
        var entries: [TreeEntry] = []
        var writer = try repository.makeWriter()
        for index in 0..<10_000 {
            let bytes = Array("a small file with the number \(index) and enough bytes to be a chunk of its own".utf8)
            let stored = try writer.store(bytes, policy: .structuredText)
            entries.append(
                .file(name: FileName("file-\(index)"), mode: 0o600, modificationTime: Timestamp(seconds: 1), stored: stored))
        }
        try writer.commit(named: "a", entries: entries)
        let first = writer.storedByteCount
        writer = try repository.makeWriter()
        let stored = try writer.store(TestData.random(100, seed: 9), policy: .structuredText)
        entries[5_000] = .file(
            name: "file-5000", mode: 0o600, modificationTime: Timestamp(seconds: 2), stored: stored)
        try writer.commit(named: "b", entries: entries)
        #expect(first > 1_000_000)
        #expect(writer.storedByteCount < 100_000)
        #expect(try repository.file("file-5000", in: "b") == TestData.random(100, seed: 9))
        let unchanged = "a small file with the number 5001 and enough bytes to be a chunk of its own"
        #expect(try repository.file("file-5001", in: "b") == Array(unchanged.utf8))
    }

    /// A file that is taken over from another snapshot must be there.
    @Test func filesAreTakenOverFromOtherSnapshots() throws {
        let photo = TestData.random(2_000_000, seed: 8)
        try repository.makeWriter().commit(named: "a", files: [("x", photo, .media)])
        let snapshot = try #require(repository.snapshot(named: "a"))
        let root = try repository.rootDirectory(of: snapshot)
        var writer = try repository.makeWriter()
        try writer.commit(named: "b", entries: root.entries)
        #expect(writer.storedByteCount == 0)
        #expect(try repository.file("x", in: "b") == photo)
        let foreign = try Repository.create(at: folder("foreign"))
        writer = try foreign.makeWriter()
        #expect(errorCode { _ = try writer.store(root.entries) } == .repositoryDamaged)
        #expect(errorCode { _ = try writer.commit(named: "c", entries: []) } == .repositoryDamaged)
        #expect(foreign.snapshots().isEmpty)
    }

    /// What an interrupted or removed backup stored is found again.
    @Test func chunksOfRemovedSnapshotsAreFoundAgain() throws {
        let photo = TestData.random(2_000_000, seed: 5)
        _ = try storedBytes("a", [("x", photo, .media)])
        try repository.removeSnapshot(try #require(repository.snapshot(named: "a")).id)
        #expect(repository.snapshots().isEmpty)
        #expect(try storedBytes("a", [("x", photo, .media)]) == 0)
    }

    @Test func whatDoesNotCompressIsStoredRaw() throws {
        let text = Array(repeating: Array("all work and no play makes a dull log. ".utf8), count: 60_000).flatMap { $0 }
        let writer = try repository.makeWriter()
        let photo = try writer.store(TestData.random(2_000_000, seed: 6), policy: .media)
        let bitmap = try writer.store(text, policy: .media)
        let noise = try writer.store(TestData.random(200_000, seed: 7), policy: .structuredText)
        try writer.publishChunks()
        func codecs(_ file: StoredFile) throws -> Set<ChunkCodec> {
            var codecs: Set<ChunkCodec> = []
            for case .chunk(let chunk) in try repository.pieces(of: file.content) { codecs.insert(chunk.codec) }
            return codecs
        }
        #expect(try codecs(photo) == [.raw])
        #expect(try codecs(bitmap) == [.deflate])
        #expect(try codecs(noise) == [.raw])
    }
}
