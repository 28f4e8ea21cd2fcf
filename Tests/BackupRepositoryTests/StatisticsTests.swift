import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct StatisticsTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    private func file(_ name: FileName, _ bytes: [UInt8], _ writer: BackupWriter) throws -> TreeEntry {
        .file(name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: try writer.store(bytes, policy: .media))
    }

    private func folder(_ name: FileName, _ entries: [TreeEntry], _ writer: BackupWriter) throws -> TreeEntry {
        .directory(name: name, mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: try writer.store(entries))
    }

    private static func photo(_ number: UInt64) -> [UInt8] { TestData.random(100_000, seed: number) }

    @Test func photosOfTwoSnapshots() throws {
        let first = try repository.makeWriter().commit(
            named: "one", files: [("a", Self.photo(1), .media), ("b", Self.photo(2), .media)], seconds: 1)
        let second = try repository.makeWriter().commit(
            named: "two", files: [("a", Self.photo(1), .media), ("c", Self.photo(3), .media), ("d", Self.photo(3), .media)],
            seconds: 2)
        let all = try repository.statistics(of: repository.snapshots())
        #expect(all.logicalBytes == 500_000 && all.snapshots.map(\.logicalBytes) == [200_000, 300_000])
        #expect(all.snapshots.map(\.added.uniqueBytes) == [200_000, 100_000])
        // Besides the photos, a directory object of some hundred bytes.
        #expect(all.snapshots.map(\.addedStructures.chunkCount) == [1, 1])
        #expect((100_000...100_600).contains(all.snapshots[0].exclusive.storedBytes))
        #expect((100_000...100_900).contains(all.snapshots[1].exclusive.storedBytes))
        #expect(all.total.chunkCount == 3 && all.structures.chunkCount == 2)
        #expect(all.byCodec[.raw]?.storedBytes ?? 0 >= 300_000)
        #expect(all.byCodec.values.reduce(0) { $0 + $1.storedBytes } == all.storedBytes)

        // Asked for alone, a snapshot needs all of its chunks; what only it has stays the same.
        let alone = try repository.statistics(of: [second])
        #expect(alone.total.uniqueBytes == 200_000 && alone.total.chunkCount == 2)
        #expect(alone.snapshots[0].exclusive == all.snapshots[1].exclusive)

        try repository.removeSnapshot(first.id)
        let left = try repository.statistics(of: repository.snapshots())
        #expect(left.snapshots[0].exclusive.storedBytes == left.storedBytes && left.total == alone.total)
    }

    /// Folders that snapshots share are gone through once, at whatever depth the sharing begins; a walk that knows no such short
    /// cut must come to the same numbers.
    @Test func sharedFoldersAndLists() throws {
        let movie = TestData.random(50_000_000, seed: 9)
        var records: [Snapshot] = []
        for (index, name) in (["one", "two", "three", "four"] as [FileName]).enumerated() {
            let writer = try repository.makeWriter()
            let inner = try folder("inner", [file("x", Self.photo(10), writer), file("movie", movie, writer)], writer)
            let pictures = (0..<3).map { Self.photo(UInt64(20 + $0 + index / 2)) }
            let album = try folder(
                "album", [inner] + pictures.enumerated().map { try file(FileName("p\($0.offset)"), $0.element, writer) }, writer)
            // The last one has the inner folder in another place, and the movie with an end of its own.
            let root =
                index == 3
                ? [try folder("moved", [inner], writer), try file("long", movie + [1, 2, 3], writer)]
                : [album, try file("own", Self.photo(UInt64(40 + index)), writer)]
            records.append(try writer.commit(named: name, entries: root, seconds: Int64(index)))
        }
        try expectExactly(records)
        #expect(try repository.statistics(of: records).structures.chunkCount >= 10)
    }

    /// A list that another one is stored against is needed by both snapshots; what is in it need not be.
    @Test func listsStoredAgainstAnother() throws {
        var database = Array(TestData.rows(164_000, seed: 21)[..<(2_000 * 4_096)])
        var earlier: FileContent?
        var records: [Snapshot] = []
        for (index, name) in (["one", "two"] as [FileName]).enumerated() {
            let writer = try repository.makeWriter()
            let stored = try writer.store(MemorySource(database), policy: .database(pageSizeBytes: 4_096), earlier: earlier)
            earlier = stored.content
            let entry = TreeEntry.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
            records.append(try writer.commit(named: name, entries: [entry], seconds: Int64(index)))
            database.removeLast(400 * 4_096)
            database[5_000] ^= 1
        }
        try expectExactly(records)
        #expect(try repository.statistics(of: records).snapshots[0].exclusive.chunkCount > 50)
    }

    /// - Parameter records: all snapshots, oldest first.
    private func expectExactly(_ records: [Snapshot]) throws {
        let statistics = try repository.statistics(of: repository.snapshots())
        let needed = try records.map { try chunks(of: $0) }
        var seen: Set<ChunkID> = []
        for (index, item) in statistics.snapshots.enumerated() {
            let added = needed[index].subtracting(seen)
            seen.formUnion(added)
            #expect(try sum(item.added, item.addedStructures) == amount(added), "\(item.snapshot.name)")
            let elsewhere = needed.enumerated().filter { $0.offset != index }.reduce(into: Set()) { $0.formUnion($1.element) }
            #expect(try item.exclusive == amount(needed[index].subtracting(elsewhere)), "\(item.snapshot.name)")
        }
        #expect(try sum(statistics.total, statistics.structures) == amount(seen))
    }

    private func sum(
        _ left: RepositoryStatistics.Amount, _ right: RepositoryStatistics.Amount
    ) -> RepositoryStatistics.Amount {
        var sum = left
        sum.add(right)
        return sum
    }

    private func amount(_ chunks: Set<ChunkID>) throws -> RepositoryStatistics.Amount {
        var amount = RepositoryStatistics.Amount()
        for chunk in try repository.catalog.locate(Array(chunks)) {
            amount.add(plain: chunk.plainLength, stored: chunk.storedLength)
        }
        return amount
    }

    private func chunks(of snapshot: Snapshot) throws -> Set<ChunkID> {
        var found: Set<ChunkID> = []
        func add(_ content: FileContent) throws {
            for element in content.elements {
                switch element {
                case .literal: continue
                case .chunk(let id, _): found.insert(id)
                case .list(let id, _):
                    found.insert(id)
                    try add(repository.resolver.open(element))
                }
            }
        }
        func walk(_ directory: Directory) throws {
            for entry in directory.entries {
                try add(entry.content)
                if entry.kind == .directory { try walk(repository.directory(of: entry)) }
            }
        }
        try add(snapshot.record.root.content)
        try walk(repository.rootDirectory(of: snapshot))
        // A chunk that is stored against another one needs that as well.
        for chunk in try repository.catalog.locate(Array(found)) { if let base = chunk.base { found.insert(base) } }
        return found
    }

    /// A snapshot that needs a delta needs its base, too. `FixtureTests` knows what the fixture holds.
    @Test func basesCount() throws {
        let copy = folder("fixture")
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/repository-v1", toPath: copy)
        let repository = try Repository.open(at: copy)
        let statistics = try repository.statistics(of: repository.snapshots())
        let difference = try #require(statistics.byCodec[.deflateAgainstBase])
        #expect(difference.uniqueBytes > difference.storedBytes && difference.chunkCount >= 1)
        // Every chunk of the fixture is needed by one of its snapshots.
        let sums = try run([
            "sqlite3", copy + "/catalog.sqlite", "select count(*), sum(plain_length), sum(stored_length) from chunks",
        ])
        let total = sum(statistics.total, statistics.structures)
        #expect(sums.output == "\(total.chunkCount)|\(total.uniqueBytes)|\(total.storedBytes)\n")
    }

    @Test func aMissingPackIsToldWithTheSnapshotsName() throws {
        let snapshot = try repository.makeWriter().commit(named: "one", files: [("a", Self.photo(1), .media)])
        for pack in try repository.packs() { try FileManager.default.removeItem(atPath: repository.layout.packPath(of: pack)) }
        let opened = try Repository.open(at: folder("repository"))
        do {
            _ = try opened.statistics(of: [snapshot])
            Issue.record("statistics of what is not there")
        } catch {
            #expect(error.code == .repositoryDamaged && error.path == "one")
        }
    }
}
