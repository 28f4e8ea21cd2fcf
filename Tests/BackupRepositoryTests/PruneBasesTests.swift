import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// A prune keeps what chunks are stored against, also where damage, or a pack that is missing for the moment, hides that it is
/// needed.
@Suite struct PruneBasesTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder() }

    /// Files of about 24,000 bytes that differ in a few places: each but the first that is stored is stored against another.
    private static func version(_ number: Int) -> [UInt8] {
        var bytes = TestData.rows(400, seed: 91)
        for place in 0...number { bytes[1_000 + place * 700] = UInt8(ascii: "#") }
        return bytes
    }

    /// A snapshot with one file, stored beside what `earlier` has of it. Each is a pack of its own.
    private static func add(
        _ name: FileName, _ version: Int, after earlier: FileName?, to repository: Repository
    ) throws {
        let writer = try repository.makeWriter()
        let content = try earlier.map { earlier in
            let snapshot = try #require(repository.snapshot(named: earlier))
            return try #require(try repository.rootDirectory(of: snapshot).entry(named: "f")).content
        }
        let stored = try writer.store(MemorySource(Self.version(version)), policy: .media, earlier: content)
        let entry = TreeEntry.file(name: "f", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
        try writer.commit(named: name, entries: [entry], seconds: 1_000 + Int64(repository.snapshots().count))
    }

    /// The places of a version's only chunk.
    private static func places(_ version: Int, _ repository: Repository) throws -> [StoredChunk] {
        let id = repository.protection.chunkID(of: Self.version(version))
        return try repository.packs().flatMap { try repository.packIndex(of: $0).storedChunks(in: $0) }.filter { $0.id == id }
    }

    private static func remove(_ name: FileName, from repository: Repository) throws {
        try repository.removeSnapshot(#require(repository.snapshot(named: name)).id)
    }

    private static func flip(_ path: String, at offset: Int, _ mask: UInt8 = 4) throws {
        var bytes = try readFile(path)
        bytes[offset < 0 ? bytes.count + offset : offset] ^= mask
        try writeFile(path, bytes)
    }

    private func prune(forgetsMissing: Bool = false) throws -> PruneSummary {
        try RepositoryPrune(Repository.open(at: path), maxUnused: .percent(0), forgetsMissing: forgetsMissing).run()
    }

    private func expectWhole(_ name: FileName, _ version: Int, _ comment: Comment? = nil) throws {
        #expect(try Repository.open(at: path).file("f", in: name) == Self.version(version), comment)
    }

    /// What `b` has is stored against what `a` has.
    private func makePair(isEncrypted: Bool = false) throws -> (repository: Repository, pack: PackID) {
        let repository = try Repository.create(
            at: path, password: isEncrypted ? EncryptionTests.secret("secret") : nil, cost: EncryptionTests.cheap)
        try Self.add("a", 1, after: nil, to: repository)
        try Self.add("b", 2, after: "a", to: repository)
        let place = try #require(try Self.places(2, repository).first)
        #expect(place.base != nil)
        return (repository, place.pack)
    }

    /// A chunk that was lost, and is a base, is stored again as a difference: the base of that was taken away.
    @Test func `a base of a base stays`() throws {
        let repository = try Repository.create(at: path)
        try Self.add("a", 1, after: nil, to: repository)
        try Self.add("b", 2, after: "a", to: repository)
        let lost = try #require(try Self.places(1, repository).first)
        try Self.remove("a", from: repository)
        for place in [200, 1_000, 1_400] { try Self.flip(repository.layout.packPath(of: lost.pack), at: place, 255) }
        try RepositoryRepair(repository) { _ in }.run()
        // Else it is known what was lost, and it would be stored whole.
        try FileManager.default.removeItem(atPath: repository.layout.damaged)
        try Self.add("c", 3, after: nil, to: repository)
        try Self.add("d", 1, after: "c", to: repository)
        #expect(try Self.places(1, repository).map(\.base) == Self.places(3, repository).map(\.id))
        try Self.remove("c", from: repository)
        _ = try prune()
        try expectWhole("d", 1)
    }

    /// Two halves of a repository are brought together: what one has whole the other has as a difference.
    @Test func `a damaged chunk that is the base of others stays until it is mended`() throws {
        let repository = try Repository.create(at: path)
        let other = folder("other")
        try FileManager.default.copyItem(atPath: path, toPath: other)
        try Self.add("a", 1, after: nil, to: repository)
        try Self.add("b", 2, after: "a", to: repository)
        let second = try Repository.open(at: other)
        try Self.add("c", 3, after: nil, to: second)
        try Self.add("d", 1, after: "c", to: second)
        for part in ["packs", "snapshots", "labels"] {
            #expect(try run(["cp", "-an", "\(other)/\(part)", path]).status == 0)
        }
        let joined = try Repository.open(at: path)
        let places = try Self.places(1, joined)
        #expect(places.count == 2)
        let whole = try #require(places.first { $0.base == nil })
        for name: FileName in ["a", "c"] { try Self.remove(name, from: joined) }
        try Self.flip(joined.layout.packPath(of: whole.pack), at: Int(whole.packOffset) + 50)
        _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .percent(0), forgetsMissing: true).run()
        try expectWhole("d", 1)
        try RepositoryRepair(Repository.open(at: path)) { _ in }.run()
        try expectWhole("b", 2)
        try expectWhole("d", 1)
        _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .percent(0), forgetsMissing: true).run()
        try expectWhole("b", 2)
        try expectWhole("d", 1)
    }

    enum Hiding: CaseIterable { case end, index, indexWithoutCatalog, header, missing, unreadable }

    /// One flipped bit in the end of a pack was enough: its chunks could be read, and what they need was taken.
    @Test(arguments: Hiding.allCases, [false, true])
    func `nothing goes while a pack hides what it needs`(hiding: Hiding, isEncrypted: Bool) throws {
        let (repository, pack) = try makePair(isEncrypted: isEncrypted)
        try Self.remove("a", from: repository)
        let file = repository.layout.packPath(of: pack)
        let right = try readFile(file)
        switch hiding {
        case .end: try Self.flip(file, at: -20)
        case .index: try Self.flip(file, at: -54)
        case .indexWithoutCatalog:
            try Self.flip(file, at: -54)
            for name in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + "/catalog.sqlite" + name) }
        case .header: try Self.flip(file, at: 3)
        case .missing: try FileManager.default.removeItem(atPath: file)
        case .unreadable:
            // A link loop: opening it is an error, as on a failing disk.
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: file)
        }
        func open() throws -> Repository {
            try Repository.open(at: path) { (_) throws(BackupError) in .password(EncryptionTests.secret("secret")) }
        }
        #expect(throws: BackupError.self) { _ = try RepositoryPrune(open(), maxUnused: .percent(0)).plan() }
        #expect(throws: BackupError.self) { _ = try RepositoryPrune(open(), maxUnused: .percent(0)).run() }
        try? FileManager.default.removeItem(atPath: file)
        try writeFile(file, right)
        #expect(try open().file("f", in: "b") == Self.version(2))
        _ = try RepositoryPrune(open(), maxUnused: .percent(0)).run()
        #expect(try open().file("f", in: "b") == Self.version(2))
    }

    /// A repair tells what was lost by what it set aside: a prune goes on, and the pack may come back from another copy.
    @Test func `what a repair could not rescue keeps its base`() throws {
        let (repository, pack) = try makePair()
        let file = repository.layout.packPath(of: pack)
        let right = try readFile(file)
        try Self.add("e", 9, after: nil, to: repository)
        let chunk = try #require(try Self.places(2, repository).first)
        for place in [0, 3, 5] { try Self.flip(file, at: Int(chunk.packOffset) + place, 255) }
        try RepositoryRepair(repository) { _ in }.run()
        for name: FileName in ["a"] { try Self.remove(name, from: repository) }
        #expect(throws: BackupError.self) { _ = try Repository.open(at: path).file("f", in: "b") }
        _ = try prune()
        #expect(throws: BackupError.self) { _ = try Repository.open(at: path).file("f", in: "b") }
        try writeFile(file, right)
        try expectWhole("b", 2)
        // Without the pack that was set aside it is not known what the chunk needs.
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.removeItem(atPath: repository.layout.damaged)
        #expect(errorCode { _ = try prune() } == .repositoryDamaged)
        #expect(try !Self.places(1, repository).isEmpty)
        _ = try prune(forgetsMissing: true)
        #expect(try Self.places(1, repository).isEmpty)
        try expectWhole("e", 9)
    }

    /// Snapshots come and go, packs are damaged or missing at a prune, and are mended or back afterwards: nothing is lost.
    @Test(arguments: Rounds.seeds(24, oneIn: 4).map { $0 + 1 }) func `no order of damage and prunes loses a chunk`(seed: UInt64)
        throws
    {
        var random = TestData(seed: seed &* 0x9e37_79b9)
        for _ in 0..<8 { _ = random.next() }
        func choose(_ count: Int) -> Int { Int(random.next() >> 33) % count }
        let repository = try Repository.create(at: path)
        var there: [(name: FileName, version: Int)] = []
        for round in 0..<16 {
            let name = FileName("s\(round)")
            let version = choose(7)
            try Self.add(
                name, version, after: there.isEmpty || choose(4) == 0 ? nil : there[choose(there.count)].name, to: repository)
            there.append((name, version))
            if there.count > 2, choose(2) == 0 { try Self.remove(there.remove(at: choose(there.count)).name, from: repository) }
            let packs = try repository.packs().sorted()
            let file = repository.layout.packPath(of: packs[choose(packs.count)])
            let right = try readFile(file)
            let damage = choose(5)
            switch damage {
            case 0: try FileManager.default.removeItem(atPath: file)
            case 1: try Self.flip(file, at: -1 - choose(24))
            case 2: try Self.flip(file, at: -25 - choose(40))
            case 3: try Self.flip(file, at: 16 + choose(right.count - 120))
            default: break
            }
            _ = try? prune()
            switch damage {
            // What the prune moved or removed is not put back by one who follows its advice either: that is done only where it
            // refused.
            case 0: try writeFile(file, right)
            case 1...3: try RepositoryRepair(Repository.open(at: path)) { _ in }.run()
            default: break
            }
            for (name, version) in there { try expectWhole(name, version, "round \(round), damage \(damage)") }
        }
    }
}
