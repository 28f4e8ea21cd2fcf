import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A table of all chunks finds what the catalog's queries find.
@Suite struct ChunkTableTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private func repository() throws -> Repository {
        let repository = try Repository.create(at: folder("repository"))
        for (number, name) in (["one", "two", "next"] as [FileName]).enumerated() {
            try RecordedHistory.backUp(name, in: repository, seconds: Int64(1_000 + number))
        }
        return repository
    }

    /// All chunks, by the packs' own indexes, and some that are nowhere.
    private func ids(_ repository: Repository) throws -> [ChunkID] {
        var ids: [ChunkID] = []
        for pack in try repository.packs() {
            let index = try PackIndex.read(repository.layout.openPack(pack), pack: pack, protection: repository.protection)
            ids += index.entries.map(\.id)
        }
        return ids + (0..<20).map { ChunkID(SHA256Hasher.hash([UInt8($0)])) }
    }

    @Test func `each chunk is found in the same place`() throws {
        let repository = try repository()
        let table = try #require(try ChunkTable.read(repository.catalog))
        let ids = try ids(repository)
        let found = try repository.catalog.findIntact(ids, in: table)
        #expect(found == (try repository.catalog.findIntact(ids)))
        #expect(found.count { $0 == nil } == 20 && found.contains { $0?.base != nil })
    }

    @Test func `what was stored since is found in the catalog`() throws {
        let repository = try repository()
        let table = try #require(try ChunkTable.read(repository.catalog))
        let bytes = TestData.random(9_000, seed: 4_711)
        try repository.makeWriter().commit(named: "new", files: [("new", bytes, .media)], seconds: 2_000)
        let id = ChunkID(SHA256Hasher.hash(bytes))
        #expect(try repository.catalog.findIntact([id], in: table)[0] != nil)
    }

    @Test func `a chunk in a pack that is gone is not found`() throws {
        let repository = try repository()
        let table = try #require(try ChunkTable.read(repository.catalog))
        let id = ChunkID(SHA256Hasher.hash(RecordedHistory.albumFile))
        let pack = try #require(try repository.catalog.findIntact([id], in: table)[0]).pack
        try FileSystem.removeFile(repository.layout.packPath(of: pack))
        // As each backup begins.
        try repository.catalog.reconcile()
        #expect(try repository.catalog.findIntact([id], in: table) == [nil])
        let all = try Set(repository.packs())
        repository.catalog.doomedPacks.withLock { $0 = all }
        #expect(try repository.catalog.findIntact(ids(repository), in: table).allSatisfy { $0 == nil })
    }

    @Test func `it is read for many lookups, and once`() throws {
        let repository = try repository()
        let count = Int(try repository.catalog.totals().chunkCount)
        try #require(count == 14)
        let reading = ChunkTableReading()
        #expect(try reading.table(for: 1, repository.catalog) == nil)
        // Eight rows for each lookup.
        let table = try reading.table(for: 1, repository.catalog)
        #expect(try table != nil && reading.table(for: 1, repository.catalog) === table)
    }
}
