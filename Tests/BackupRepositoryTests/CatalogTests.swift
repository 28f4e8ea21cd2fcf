import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Several processes have the catalog open, and one of them, or another program, deletes it.
@Suite struct CatalogTests {
    private let folder: TemporaryFolder
    private static let photo = TestData.random(100_000, seed: 1)
    private static let other = TestData.random(50_000, seed: 2)

    init() throws {
        folder = try TemporaryFolder()
        try Repository.create(at: folder("repository")).makeWriter().commit(named: "a", files: [("photo", Self.photo, .media)])
    }

    private var path: String { folder("repository/catalog.sqlite") }

    private func open() throws -> Repository { try Repository.open(at: folder("repository")) }

    private func query(_ sql: String) throws -> String {
        let result = try run(["sqlite3", path, sql])
        #expect(result.status == 0, "\(result.output)")
        return result.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private var generation: String { get throws { try query("SELECT generation FROM repository") } }

    private func inode() throws -> UInt64 { try FileSystem.status(path).inode }

    /// Runs `body` while all connections that `repository` has made for reading are in use: others are made meanwhile.
    private func whileReading(_ repository: Repository, _ body: () throws -> Void) throws {
        let isReading = DispatchSemaphore(value: 0)
        let isDone = DispatchSemaphore(value: 0)
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? repository.catalog.read { _ in
                isReading.signal()
                isDone.wait()
            }
            hasEnded.signal()
        }
        isReading.wait()
        defer {
            isDone.signal()
            hasEnded.wait()
        }
        try body()
    }

    /// What a mount does whose catalog another process removed: the connections that it makes later are to another file than the
    /// first.
    @Test func aBackupDoesNotRelyOnPacksOfACatalogThatIsGone() throws {
        let mounted = try open()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let second = try open()
        try whileReading(mounted) {
            // A backup that is given up, but that the other process has seen.
            let writer = try mounted.makeWriter()
            _ = try writer.store(Self.other, policy: .media)
            try writer.publishChunks()
            try second.catalog.reconcile()
            writer.abandon()
            try mounted.makeWriter().commit(named: "b", files: [("other", Self.other, .media)])
        }
        #expect(try mounted.file("other", in: "b") == Self.other)
        #expect(try open().file("other", in: "b") == Self.other)
        try second.refresh()
        #expect(try second.file("other", in: "b") == Self.other)
        #expect(try query("SELECT count(*) FROM packs") == "4")
    }

    @Test func itIsMadeAnewInItsPlace() throws {
        let first = try open()
        let second = try open()
        let (generation, inode) = (try generation, try inode())
        try first.catalog.rebuild()
        #expect(try self.generation != generation)
        #expect(try self.inode() == inode)
        #expect(try query("SELECT count(*) FROM packs") == "2")
        // The other process sees the new one, through the connections it has.
        try first.makeWriter().commit(named: "b", files: [("other", Self.other, .media)])
        try second.refresh()
        #expect(try second.file("other", in: "b") == Self.other)
        #expect(try second.file("photo", in: "a") == Self.photo)
        try second.makeWriter().commit(named: "c", files: [("photo", Self.photo, .media), ("other", Self.other, .media)])
        #expect(try open().file("other", in: "c") == Self.other)
    }

    /// Of two processes that find the same damage, one rebuilds the catalog.
    @Test func itIsMadeAnewOnce() throws {
        let first = try open()
        let second = try open()
        try first.catalog.rebuild()
        let generation = try generation
        try second.catalog.replace()
        #expect(try self.generation == generation)
        #expect(try query("SELECT count(*) FROM packs") == "2")
        try second.catalog.replace()
        #expect(try self.generation != generation)
    }

    /// A snapshot that is removed, with its packs, while it is read, says nothing about the catalog.
    @Test func aChunkThatIsNowhereIsNoReasonToMakeItAnew() throws {
        let repository = try open()
        let generation = try generation
        let missing = ChunkID(SHA256Hasher.hash([1, 2, 3]))
        for _ in 0..<20 {
            #expect(errorCode { _ = try repository.catalog.locate([missing]) } == .repositoryDamaged)
        }
        #expect(try self.generation == generation)
    }

    /// The catalog says that it knows a pack, but not all that is in it.
    @Test func aChunkThatOnlyItsPackKnowsIsFound() throws {
        let repository = try open()
        let generation = try generation
        _ = try query("DELETE FROM chunks")
        #expect(try repository.file("photo", in: "a") == Self.photo)
        #expect(try self.generation != generation)
        #expect(try query("SELECT count(*) > 0 FROM chunks") == "1")
    }

    /// Pages of two times: chunks that were pruned are said to lie in a pack that is there.
    private func mixTwoTimes() throws {
        _ = try query("ATTACH '\(folder("old"))' AS old; CREATE TABLE old.chunks AS SELECT * FROM chunks")
        let repository = try open()
        try repository.makeWriter().commit(named: "b", files: [("other", Self.other, .media)])
        try repository.removeSnapshot(try #require(repository.snapshot(named: "a")).id)
        _ = try RepositoryPrune(repository).run()
        _ = try query(
            """
            ATTACH '\(folder("old"))' AS old;
            UPDATE old.chunks SET pack = (SELECT min(number) FROM packs WHERE kind = 0);
            INSERT OR IGNORE INTO chunks SELECT * FROM old.chunks
            """)
    }

    @Test func `a backup relies on no chunk that its pack does not hold`() throws {
        try mixTwoTimes()
        let repository = try open()
        let commit = { try repository.makeWriter().commit(named: "c", files: [("photo", Self.photo, .media)]) }
        #expect(errorCode { _ = try commit() } == .repositoryDamaged)
        #expect(try repository.mendCatalog())
        _ = try commit()
        #expect(try repository.file("photo", in: "c") == Self.photo)
        #expect(try open().file("photo", in: "c") == Self.photo)
        #expect(try !repository.mendCatalog())
    }

    @Test func `a catalog with other lengths than the contents is rebuilt`() throws {
        _ = try query("UPDATE chunks SET stored_length = stored_length + 1, plain_length = plain_length + 1 WHERE codec = 0")
        #expect(try open().file("photo", in: "a") == Self.photo)
    }

    @Test func `a pack's index is read once, and again when its file has changed`() throws {
        let repository = try open()
        let commit = { (name: FileName) in
            _ = try repository.makeWriter().commit(named: name, files: [("photo", Self.photo, .media)])
        }
        try commit("b")
        let count = repository.catalog.proofs.readCount
        #expect(count > 0)
        try commit("c")
        #expect(repository.catalog.proofs.readCount == count)
        let pack = try #require(try repository.packs().first)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 7)], ofItemAtPath: repository.layout.packPath(of: pack))
        try commit("d")
        #expect(repository.catalog.proofs.readCount == count + 1)
    }

    /// What is in it is stored again, so a backup heals what it can.
    @Test func `a backup does not rely on a pack whose index is damaged`() throws {
        let repository = try open()
        for pack in try repository.packs() {
            let path = repository.layout.packPath(of: pack)
            try Damage.flip(path, at: Int(try FileSystem.status(path).size) - 40)
        }
        try open().makeWriter().commit(named: "b", files: [("photo", Self.photo, .media)])
        #expect(try open().file("photo", in: "b") == Self.photo)
    }

    /// While other processes use the file, its first page cannot be repaired; a process that finds it so works without the
    /// catalog.
    @Test(arguments: [0, 16, 40]) func damageOfAFileInUseKeepsNobodyFromReading(offset: Int) throws {
        let repository = try open()
        #expect(try query("PRAGMA wal_checkpoint(TRUNCATE)") == "0|0|0")
        for position in offset..<(offset + 16) { try Damage.flip(path, at: position) }
        let second = try open()
        #expect(try second.file("photo", in: "a") == Self.photo)
        try second.makeWriter().commit(named: "b", files: [("other", Self.other, .media)])
        try repository.refresh()
        #expect(try repository.file("other", in: "b") == Self.other)
        #expect(try open().file("photo", in: "a") == Self.photo)
    }
}
