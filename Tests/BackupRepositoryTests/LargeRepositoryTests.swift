import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// R-A18: what takes time for each chunk or snapshot must not take it for each pair of them.
@Suite struct LargeRepositoryTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder(inMemory: true) }

    private static func files(_ count: Int, seed: UInt64) -> [(FileName, [UInt8], ChunkingPolicy)] {
        (0..<count).map { (FileName("file\($0)"), TestData.random(200, seed: seed * 1_000 + UInt64($0) + 1), .media) }
    }

    @Test("A check of a repository that has lost a pack compares the packs once, not for each lost chunk")
    func aLostPackIsLookedForOnce() throws {
        let repository = try Repository.create(at: path)
        let snapshot = try repository.makeWriter().commit(named: "a", files: Self.files(300, seed: 1))
        let entry = try #require(repository.rootDirectory(of: snapshot).entries.first)
        guard case .chunk(let chunk) = try #require(repository.pieces(of: entry.content).first) else {
            Issue.record("a file of 200 bytes is no chunk")
            return
        }
        try FileManager.default.removeItem(atPath: repository.layout.packPath(of: chunk.pack))
        let opened = try Repository.open(at: path)
        let before = opened.catalog.comparisonCount
        var missing = 0
        var check = RepositoryCheck(opened, readData: nil) { event in
            if case .finding(let finding) = event, finding.kind == .missing { missing += 1 }
        }
        let summary = try check.run()
        #expect(missing == 300 && summary.damagedFileCount == 300)
        #expect(opened.catalog.comparisonCount - before <= 3)
    }

    @Test("Asking again for a chunk that is nowhere does not list the packs again while their folders stay as they are")
    func aMissingChunkIsCheapWhenFoldersStayAsTheyAre() throws {
        let repository = try Repository.create(at: path)
        try repository.makeWriter().commit(named: "a", files: Self.files(3, seed: 1))
        let layout = repository.layout
        // Folders that changed just now may change again without a trace.
        let folders = try FileManager.default.contentsOfDirectory(atPath: layout.packs).map { "\(layout.packs)/\($0)" }
        let end = Date(timeIntervalSinceNow: 20)
        while try ([layout.packs] + folders).contains(where: { try !FileSystem.status($0).isSettled }), Date() < end {
            usleep(50_000)
        }
        let opened = try Repository.open(at: path)
        let missing = (0..<50).map { ChunkID(SHA256Hasher.hash([UInt8($0)])) }
        let before = opened.catalog.comparisonCount
        for id in missing { #expect(errorCode { _ = try opened.catalog.locate([id]) } == .repositoryDamaged) }
        #expect(opened.catalog.comparisonCount == before)
        // A pack that another process publishes is found all the same.
        let bytes = TestData.random(500, seed: 77)
        try repository.makeWriter().commit(named: "b", files: [("new", bytes, .media)])
        try opened.refresh()
        #expect(try opened.file("new", in: "b") == bytes)
    }

    @Test("Removing many snapshots under one lock leaves the others and their labels")
    func manySnapshotsAreRemovedAtOnce() throws {
        let repository = try Repository.create(at: path)
        var ids: [SnapshotID] = []
        for number in 0..<30 {
            let snapshot = try repository.makeWriter().commit(
                named: FileName("s\(number)"), files: Self.files(1, seed: 1), seconds: Int64(number))
            ids.append(snapshot.id)
            if number % 3 == 0 { try repository.setPinned(snapshot.id, true) }
        }
        let removed = ids.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        try repository.removeSnapshots(removed)
        for found in [repository, try Repository.open(at: path)] {
            #expect(found.snapshots().map(\.id) == ids.enumerated().filter { $0.offset % 2 == 1 }.map(\.element))
            #expect(found.snapshots().filter(\.isPinned).map(\.name) == ["s3", "s9", "s15", "s21", "s27"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/labels").count == 5)
        // One that is not there: nothing is removed.
        #expect(errorCode { try repository.removeSnapshots([ids[1], ids[0]]) } == .notFound)
        #expect(repository.snapshots().count == 15)
    }

    @Test("A snapshot or label that this process writes is in its list at once")
    func whatIsWrittenIsListed() throws {
        let repository = try Repository.create(at: path)
        let first = try repository.makeWriter().commit(named: "a", files: Self.files(1, seed: 1))
        #expect(repository.snapshots().map(\.name) == ["a"])
        try repository.renameSnapshot(first.id, to: "b")
        #expect(repository.snapshot(named: "b")?.id == first.id && repository.snapshot(named: "a") == nil)
        // Two records of one name, as two machines make them: both can be seen, and the name comes back when the other goes.
        let other = try Repository.open(at: path)
        let second = try other.makeWriter().commit(named: "a", files: Self.files(1, seed: 1), seconds: 2000)
        try repository.setPinned(first.id, true)
        #expect(repository.snapshot(id: second.id)?.name == "a" && repository.snapshot(id: first.id)?.isPinned == true)
        try repository.refresh()
        #expect(repository.snapshots().map(\.name) == ["b", "a"])
    }

    @Test("A catalog made in several portions has every chunk of every pack")
    func aCatalogInPortionsIsWhole() throws {
        let repository = try Repository.create(at: path)
        let writer = try repository.makeWriter(packSizeBytes: 1)
        try writer.commit(named: "a", files: Self.files(60, seed: 3))
        let before = try repository.catalog.sums()
        try repository.catalog.rebuild()
        let after = try repository.catalog.sums()
        #expect(before.count > 60 && before.count == after.count)
        for (pack, sum) in before { #expect(after[pack]?.sum == sum.sum && after[pack]?.rowCount == sum.rowCount) }
    }

    @Test("Prune keeps one copy of each of many duplicated chunks, and everything that is needed")
    func duplicatesAreRemoved() throws {
        let repository = try Repository.create(at: path)
        try repository.makeWriter(packSizeBytes: 2_000).commit(named: "a", files: Self.files(100, seed: 5))
        // The same chunks again, as after a prune that was cut off between copy and removal.
        for pack in try repository.packs() {
            let index = try repository.packIndex(of: pack)
            let file = try SharedFile(path: repository.layout.packPath(of: pack))
            let copy = try PackWriter(kind: index.kind, temporaryFolder: repository.layout.temporary, protection: .none)
            for chunk in index.storedChunks(in: pack).reversed() {
                let bytes = try file.readExactly(at: chunk.packOffset, count: Int(chunk.storedLength))
                try bytes.withUnsafeBytes { try copy.append(PackEntry(chunk), $0) }
            }
            _ = try copy.publish(in: repository.layout, repository.catalog) {}
        }
        let summary = try RepositoryPrune(repository, maxUnused: .bytes(0)).run()
        #expect(summary.neededChunkCount >= 100)
        let opened = try Repository.open(at: path)
        for (name, bytes, _) in Self.files(100, seed: 5) { #expect(try opened.file(name, in: "a") == bytes) }
        let ids = try opened.packs().flatMap { try opened.packIndex(of: $0).entries.map(\.id) }
        #expect(ids.count == Set(ids).count)
    }
}
