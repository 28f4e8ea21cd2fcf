import BackupCore
import SQLite
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Lookups of many chunks together find what lookups of one find, and what the packs' own indexes say.
@Suite struct ChunkLookupTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder(inMemory: true)
        repository = try Repository.create(at: folder("repository"))
        for (number, name) in ["one", "two", "three"].enumerated() {
            try RecordedHistory.backUp(FileName(name), in: repository, seconds: Int64(1_000 + number))
        }
    }

    private func indexed() throws -> [StoredChunk] {
        try repository.packs().sorted().flatMap { try repository.packIndex(of: $0).storedChunks(in: $0) }
    }

    @Test func `many are found as the packs have them`() throws {
        let chunks = try indexed()
        #expect(chunks.count > 10 && Set(chunks.map(\.pack)).count > 3)
        #expect(Set(chunks.map(\.id)).count == chunks.count)
        #expect(try repository.catalog.locate(chunks.map(\.id)) == chunks)
        #expect(try repository.catalog.findIntact(chunks.map(\.id)) == chunks)
        for chunk in chunks { #expect(try repository.catalog.lookUp(chunk.id) == chunk) }
    }

    @Test func `a name that begins like another one is another one, and a pack that is not there holds nothing`() throws {
        let chunks = try indexed()
        let key = DigestKey(chunks[0].id.digest)
        let columns = """
            pack, "offset", stored_length, plain_length, codec, plain_crc32, stored_crc32, base0, base1, base2, base3
            """
        try repository.catalog.write { (database) throws(BackupError) in
            // Of the same first 64 bits.
            try database.execute(
                """
                INSERT INTO chunks SELECT id0, id1 + 1, id2, id3, \(columns) FROM chunks WHERE id0 = \(key.words.0);
                INSERT INTO chunks SELECT id0, id1, id2, id3 + 1, \(columns) FROM chunks WHERE id0 = \(key.words.0);
                INSERT INTO chunks SELECT id0, id1, id2, id3, \(columns.replacing("pack", with: "pack + 1000"))
                    FROM chunks WHERE id0 = \(DigestKey(chunks[1].id.digest).words.0)
                """)
        }
        #expect(try repository.catalog.locate(chunks.map(\.id)) == chunks)
        #expect(try repository.catalog.lookUp(chunks[0].id) == chunks[0])
        #expect(try repository.catalog.lookUp(chunks[1].id) == chunks[1])
    }

    /// A copy of the repository went on by itself, and its files came back: one pack has the bytes as they are, another one has
    /// them compressed. What a backup says of the size of its archives must be of the form that its archives serve.
    @Test(arguments: [true, false]) func `of two whole forms of a chunk, all lookups find the same`(isRawFirst: Bool) throws {
        // Compressed, it is a little shorter.
        let bytes = TestData.random(300, seed: 4_711) + [UInt8](repeating: 0x20, count: 40)
        let id = ChunkID(SHA256Hasher.hash(bytes))
        let path = repository.layout.path
        #expect(try run(["cp", "-a", path, folder("other")]).status == 0)
        let other = try Repository.open(at: folder("other"))
        let policies: [ChunkingPolicy] = isRawFirst ? [.media, .structuredText] : [.structuredText, .media]
        for (repository, policy) in zip([repository, other], policies) {
            try repository.makeWriter().commit(named: "forms", files: [("bytes", bytes, policy)], seconds: 3_000)
        }
        #expect(try run(["cp", "-a", "\(other.layout.path)/packs", path]).status == 0)
        try repository.catalog.reconcile()
        let places = try repository.catalog.locations(of: id)
        try #require(places.count == 2 && places.allSatisfy { $0.base == nil })
        try #require(Set(places.map(\.storedLength)).count == 2)
        let found = try repository.catalog.locate([id])[0]
        #expect(try repository.catalog.findIntact(id) == found)
        let table = try #require(try ChunkTable.read(repository.catalog))
        #expect(try repository.catalog.findIntact([id], in: table)[0] == found)
        let forms = try #require(repository.snapshot(named: "forms"))
        let next = try repository.makeWriter()
        try next.commit(named: "next", entries: repository.rootDirectory(of: forms).entries, seconds: 4_000)
        #expect(next.knownPlaces.find([id]) == [found])
        #expect(try repository.file("bytes", in: "forms") == bytes)
    }

    @Test func `only chunks that are stored whole are known again, and not more than fit`() throws {
        func chunk(_ number: Int, base: ChunkID? = nil) -> StoredChunk {
            StoredChunk(
                id: ChunkID(SHA256Hasher.hash(Array("\(number)".utf8))), pack: PackID(SHA256Hasher.hash([1])), packOffset: 0,
                storedLength: 1, plainLength: 1, codec: base == nil ? .raw : .deflateAgainstBase, plainCRC32: 0, storedCRC32: 0,
                base: base)
        }
        let places = KnownPlaces()
        let delta = chunk(1, base: chunk(2).id)
        places.note([nil, delta, chunk(2)])
        #expect(places.find([delta.id, chunk(2).id, chunk(3).id]) == [nil, chunk(2), nil])
        let many = (3..<40_000).map { chunk($0) }
        places.note(many)
        #expect(places.find(many.map(\.id)).count { $0 != nil } == 32_767)
    }
}
