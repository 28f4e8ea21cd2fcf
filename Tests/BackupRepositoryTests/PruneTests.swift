import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// `prune` frees space, never takes a byte that is needed, and may die at any point.
@Suite struct PruneTests {
    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder() }

    private static func file(_ seed: UInt64, _ count: Int = 120_000) -> [UInt8] { TestData.random(count, seed: seed) }

    /// Three snapshots: `shared` and `folder` are in all, `late` in all but the first, `own` in each its own, `pages` differ in a
    /// few places.
    private func make() throws -> Repository {
        let repository = try Repository.create(at: path)
        for (number, name) in ["a", "b", "c"].enumerated() { try Self.add(FileName(name), UInt64(number), repository) }
        return repository
    }

    private static func pages(_ number: UInt64) -> [UInt8] {
        var pages = TestData.rows(5_000, seed: 40)
        for place in stride(from: 50_000, to: pages.count, by: 70_000) { pages[place] = 65 + UInt8(number) }
        return pages
    }

    private static func add(_ name: FileName, _ number: UInt64, _ repository: Repository) throws {
        let writer = try repository.makeWriter(packSizeBytes: 200_000)
        func entry(_ name: FileName, _ bytes: [UInt8], _ policy: ChunkingPolicy) throws -> TreeEntry {
            .file(
                name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: try writer.store(bytes, policy: policy))
        }
        let folder = try writer.store([entry("inner", file(9, 5_000), .media)])
        var entries = [
            try entry("own", file(100 + number), .media), try entry("shared", file(7), .media),
            try entry("rows", TestData.rows(2_000, seed: 60 + number), .structuredText),
            try entry("pages", pages(number), .database(pageSizeBytes: 4096)),
            TreeEntry.directory(name: "folder", mode: 0o700, modificationTime: Timestamp(seconds: 5), stored: folder),
        ]
        if number > 0 { entries.append(try entry("late", file(8), .media)) }
        try writer.commit(named: name, entries: entries, seconds: 1000 + Int64(number))
    }

    private static func expectWhole(_ name: FileName, _ number: UInt64, _ repository: Repository) throws {
        #expect(try repository.file("own", in: name) == file(100 + number))
        #expect(try repository.file("shared", in: name) == file(7))
        #expect(try repository.file("rows", in: name) == TestData.rows(2_000, seed: 60 + number))
        #expect(try repository.file("pages", in: name) == pages(number))
    }

    private static func content(_ name: FileName, in snapshot: FileName, _ repository: Repository) throws -> FileContent {
        let found = try #require(repository.snapshot(named: snapshot))
        return try #require(try repository.rootDirectory(of: found).entry(named: name)).content
    }

    private func packBytes() throws -> UInt64 {
        let folder = path + "/packs"
        return try FileManager.default.subpathsOfDirectory(atPath: folder).reduce(0) { sum, name in
            let status = FileSystem.statusIfPresent(folder + "/" + name)
            return sum + (status?.kind == .regular ? status?.size ?? 0 : 0)
        }
    }

    private func expectIndependentlySound() throws {
        #expect(try run(["python3", Fixtures.reader, "packs", path]).status == 0)
        let hurt = try run(["python3", Fixtures.folder + "/hurt_files.py", path])
        #expect(hurt.status == 0 && hurt.bytes.isEmpty)
    }

    private func check(_ repository: Repository) throws -> CheckSummary {
        var check = RepositoryCheck(repository, readData: .all) { event in Issue.record("\(event)") }
        return try check.run()
    }

    @Test func nothingIsTakenThatIsNeeded() throws {
        let repository = try make()
        let before = try packBytes()
        let untouched = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
        #expect(untouched.removedPackCount == 0 && untouched.rewrittenPackCount == 0 && untouched.freedByteCount == 0)
        #expect(try packBytes() == before)
        try repository.removeSnapshot(try #require(repository.snapshot(named: "a")).id)
        let plan = try RepositoryPrune(repository, maxUnused: .percent(0)).plan()
        #expect(try packBytes() == before)
        let done = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
        #expect(done.unusedByteCount == plan.unusedByteCount && done.removedPackCount == plan.removedPackCount)
        // The file of 120,000 bytes that only this snapshot had, and more, but not what the others share with it.
        let freed = before - (try packBytes())
        #expect(done.freedByteCount == freed && freed > 120_000 && freed < 250_000)
        #expect(done.remainingUnusedByteCount == 0)
        for (number, name) in ["b", "c"].enumerated() { try Self.expectWhole(FileName(name), UInt64(number) + 1, repository) }
        #expect(try check(try Repository.open(at: path)).isSound)
        try expectIndependentlySound()
        let again = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
        #expect(again.unusedByteCount == 0 && again.freedByteCount == 0)
        for snapshot in repository.snapshots() { try repository.removeSnapshot(snapshot.id) }
        // As a repository looks of which snapshots/ was not copied (R-A21).
        #expect(errorCode { _ = try RepositoryPrune(repository).plan() } == .repositoryDamaged)
        #expect(errorCode { _ = try RepositoryPrune(repository).run() } == .repositoryDamaged)
        #expect(try packBytes() > 0)
        _ = try RepositoryPrune(repository, allowsEmpty: true).run()
        #expect(try packBytes() == 0)
        try Self.add("d", 9, repository)
        try Self.expectWhole("d", 9, repository)
    }

    /// The rest of a pack is not copied for a little that is unused.
    @Test func aLittleMayStay() throws {
        let repository = try make()
        try repository.removeSnapshot(try #require(repository.snapshot(named: "a")).id)
        let unlimited = try RepositoryPrune(repository, maxUnused: .unlimited).plan()
        #expect(unlimited.rewrittenPackCount == 0 && unlimited.remainingUnusedByteCount > 0)
        let none = try RepositoryPrune(repository, maxUnused: .bytes(0)).plan()
        #expect(none.rewrittenPackCount > 0 && none.remainingUnusedByteCount == 0)
        #expect(try UnusedLimit(parsing: "5%") == .percent(5) && UnusedLimit(parsing: "0") == .bytes(0))
        #expect(try UnusedLimit(parsing: "3K") == .bytes(3072) && UnusedLimit(parsing: "2m") == .bytes(2_097_152))
        #expect(try UnusedLimit(parsing: "unlimited") == .unlimited)
        for text in ["", "5", "x", "100%", "-1%", "1Q", "K"] where text != "5" {
            #expect(errorCode { _ = try UnusedLimit(parsing: text) } == .usage, "\(text)")
        }
        #expect(UnusedLimit.percent(5).byteCount(used: 950) == 50)
    }

    /// Chunks that lie in two packs: one of them stays.
    @Test func copiesAreGivenBack() throws {
        let repository = try make()
        // A copy of the largest pack with one chunk more, under another name.
        let packs = try repository.packs()
        let pack = try #require(packs.first { (try? repository.packIndex(of: $0).kind) == .data })
        let index = try repository.packIndex(of: pack)
        do {
            let lock = try RepositoryLock(repository.layout, .writing, operation: "prune")
            let rewriter = PackRewriter(repository, lock)
            let extra = TestData.random(5_000, seed: 77)
            let entry = StoredChunk(
                id: ChunkID(SHA256Hasher.hash(extra)), pack: pack, packOffset: 0, storedLength: 5_000, plainLength: 5_000,
                codec: .raw,
                plainCRC32: CRC32.of(extra), storedCRC32: CRC32.of(extra))
            try extra.withUnsafeBytes { bytes in _ = try rewriter.append(entry, bytes, kind: .data) }
            try PackDataReader(repository).read(index.storedChunks(in: pack), of: pack) { (chunk, bytes) throws(BackupError) in
                _ = try rewriter.append(chunk, bytes.get(), kind: .data)
            }
            try rewriter.finish()
        }
        let before = try packBytes()
        let summary = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
        #expect(before - (try packBytes()) == summary.freedByteCount && summary.freedByteCount > 5_000)
        let listed = try run(["python3", Fixtures.reader, "packs", path]).bytes
        #expect(try check(repository).chunkCount == listed.count { $0 == 10 })
        for (number, name) in ["a", "b", "c"].enumerated() { try Self.expectWhole(FileName(name), UInt64(number), repository) }
    }

    /// A base that only a difference needs stays; the fixture has one.
    @Test func basesStay() throws {
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/repository-v1", toPath: path)
        let repository = try Repository.open(at: path)
        let entries = try repository.packs().flatMap { try repository.packIndex(of: $0).entries }
        #expect(entries.contains { $0.base != nil })
        _ = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
        let left = try repository.packs().flatMap { try repository.packIndex(of: $0).entries }
        #expect(Set(left.map(\.id)) == Set(entries.map(\.id)))
        try expectIndependentlySound()
    }

    /// A prune leaves some unused chunks in their pack: a delta whose base is gone may be among them. No snapshot needs it.
    @Test func anUnusedDifferenceWithoutItsBaseIsNoDamage() throws {
        let repository = try Repository.create(at: path)
        func add(_ name: FileName, _ number: UInt64, withPages: Bool) throws {
            let writer = try repository.makeWriter()
            let earlier = try repository.snapshot(named: "a").flatMap {
                try repository.rootDirectory(of: $0).entry(named: "pages")
            }
            func entry(_ name: FileName, _ bytes: [UInt8], _ policy: ChunkingPolicy) throws -> TreeEntry {
                .file(
                    name: name, mode: 0o600, modificationTime: Timestamp(seconds: 5),
                    stored: try writer.store(
                        MemorySource(bytes), policy: policy, earlier: name == "pages" ? earlier?.content : nil))
            }
            var entries = name == "a" ? [] : [try entry("kept", Self.file(3), .media)]
            if withPages { entries.append(try entry("pages", Self.pages(number), .database(pageSizeBytes: 4096))) }
            try writer.commit(named: name, entries: entries, seconds: 1000 + Int64(number))
        }
        try add("a", 0, withPages: true)
        try add("b", 1, withPages: true)
        try add("c", 2, withPages: false)
        for name in ["a", "b"] as [FileName] { try repository.removeSnapshot(#require(repository.snapshot(named: name)).id) }
        let pruned = try RepositoryPrune(repository, maxUnused: .percent(60)).run()
        #expect(pruned.removedPackCount >= 1 && pruned.rewrittenPackCount == 0)
        let left = try repository.packs().flatMap { try repository.packIndex(of: $0).entries }
        let names = Set(left.map(\.id))
        #expect(left.contains { entry in entry.base.map { !names.contains($0) } ?? false }, "one is there without its base")
        #expect(try check(repository).isSound)
        #expect(try repository.file("kept", in: "c") == Self.file(3))
        // The next backup does not rely on it.
        try add("d", 1, withPages: true)
        #expect(try repository.file("pages", in: "d") == Self.pages(1))
        #expect(try check(repository).isSound)
    }

    @Test func whereDamageHidesWhatIsNeededNothingIsTaken() throws {
        let repository = try make()
        try repository.removeSnapshot(try #require(repository.snapshot(named: "a")).id)
        // A record that cannot be read.
        let record = repository.layout.snapshotPath(of: try #require(repository.snapshot(named: "b")).id)
        let bytes = try readFile(record)
        var damaged = bytes
        damaged[40] ^= 1
        try writeFile(record, damaged)
        let before = try packBytes()
        #expect(errorCode { _ = try RepositoryPrune(Repository.open(at: path)).run() } == .repositoryDamaged)
        try writeFile(record, bytes)
        // A folder that cannot be read: any pack of structures, whichever way it is damaged.
        for pack in try repository.packs() where try repository.packIndex(of: pack).kind == .metadata {
            let file = repository.layout.packPath(of: pack)
            let bytes = try readFile(file)
            for offset in [20, bytes.count - 5] {
                var damaged = bytes
                damaged[offset] ^= 0xFF
                try writeFile(file, damaged)
                for name in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + "/catalog.sqlite" + name) }
                // The data of a folder that only the removed snapshot has may be damaged; but which bases a pack needs, its index
                // tells.
                let isNeeded = try offset != 20 || !run(["python3", Fixtures.folder + "/hurt_files.py", path]).bytes.isEmpty
                let code = errorCode { _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .unlimited).plan() }
                #expect(code == (isNeeded ? .repositoryDamaged : nil))
            }
            try writeFile(file, bytes)
        }
        #expect(try packBytes() == before)
        _ = try RepositoryPrune(Repository.open(at: path), maxUnused: .percent(0)).run()
        #expect(try check(try Repository.open(at: path)).isSound)
    }

    /// A pack with a damaged chunk that is needed is left to `check --repair`, and nothing of it is lost by the way.
    @Test func aDamagedPackIsLeftAlone() throws {
        let repository = try make()
        // Its pack is that of the first snapshot, of which it alone is needed.
        let content = try Self.content("shared", in: "b", repository)
        let chunks = try repository.pieces(of: content).compactMap { if case .chunk(let chunk) = $0 { chunk } else { nil } }
        let chunk = try #require(chunks.first)
        let file = repository.layout.packPath(of: chunk.pack)
        var bytes = try readFile(file)
        bytes[Int(chunk.packOffset) + 10] ^= 1
        bytes[Int(chunk.packOffset) + 90] ^= 1
        try writeFile(file, bytes)
        for name: FileName in ["a", "c"] { try repository.removeSnapshot(try #require(repository.snapshot(named: name)).id) }
        let opened = try Repository.open(at: path)
        let summary = try RepositoryPrune(opened, maxUnused: .percent(0)).run()
        #expect(summary.leftAlone.map(\.path) == [file])
        #expect(try FileSystem.exists(file))
        #expect(try opened.file("own", in: "b") == Self.file(101))
        #expect(try opened.file("late", in: "b") == Self.file(8))
        #expect(try opened.file("pages", in: "b") == Self.pages(1))
    }

    // MARK: Dying

    private static let points = [
        "prune.planned", "prune.pack-unlinked", "prune.pack-unlinked:2", "backup.pack-written", "backup.pack-written:2",
        "backup.pack-published", "backup.pack-published:2", "prune.pack-rewritten", "prune.pack-rewritten:2",
        "prune.catalog-updated",
    ]

    @Test(arguments: points, ["", "=fail"]) func diesAt(point: String, action: String) async throws {
        let repository = try make()
        for name: FileName in ["a", "b"] { try repository.removeSnapshot(try #require(repository.snapshot(named: name)).id) }
        let before = try packBytes()
        let expected: ExitTest.Condition = action.isEmpty ? .signal(SIGKILL) : .exitCode(7)
        let fault = point + action
        await #expect(processExitsWith: expected) { [path = path as String, fault = fault as String] in
            setenv("BACKUPFS_FAULT", fault, 1)
            let repository = try Repository.open(at: path)
            do {
                _ = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
            } catch {
                exit((error as? BackupError)?.code == .inputOutput ? 7 : 8)
            }
        }
        // The instance that was open all the time, and a new one.
        for repository in [repository, try Repository.open(at: path)] {
            try Self.expectWhole("c", 2, repository)
        }
        try expectIndependentlySound()
        let summary = try RepositoryPrune(Repository.open(at: path), maxUnused: .percent(0)).run()
        #expect(summary.remainingUnusedByteCount == 0)
        #expect(try packBytes() < before - 120_000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/tmp").isEmpty)
        let opened = try Repository.open(at: path)
        #expect(try check(opened).isSound)
        try Self.expectWhole("c", 2, opened)
        // Nothing lies twice.
        let ids = try opened.packs().flatMap { try opened.packIndex(of: $0).entries.map(\.id) }
        #expect(ids.count == Set(ids).count)
    }

    /// Threads that read all the time while snapshots go and packs are rewritten under them, with files they opened before.
    @Test func readersGoOn() throws {
        let repository = try make()
        let reader = try Repository.open(at: path)
        let table = try reader.extents(of: Self.content("pages", in: "c", reader))
        let failures = LockedArray<String>()
        let rounds = LockedArray<Int>()
        let isDone = LockedArray<Bool>()
        DispatchQueue.concurrentPerform(iterations: 3) { thread in
            if thread == 0 {
                defer { isDone.append(true) }
                do {
                    for round in 0..<6 {
                        if let old = repository.snapshot(named: round == 0 ? "a" : FileName("t\(round)")) {
                            try repository.removeSnapshot(old.id)
                        }
                        try Self.add(FileName("t\(round + 1)"), UInt64(round + 20), repository)
                        _ = try RepositoryPrune(repository, maxUnused: .percent(0)).run()
                    }
                } catch { failures.append("\(error)") }
            } else {
                while isDone.values.isEmpty || rounds.values.count < 4 {
                    var bytes = [UInt8](repeating: 0, count: Int(table.size))
                    let count = try? bytes.withUnsafeMutableBytes { try reader.read(table, at: 0, into: $0) }
                    if count != bytes.count || bytes != Self.pages(2) { failures.append("an open file") }
                    if (try? reader.file("own", in: "c")) != Self.file(102) { failures.append("own") }
                    if (try? reader.file("shared", in: "b")) != Self.file(7) { failures.append("shared") }
                    rounds.append(1)
                }
            }
        }
        #expect(failures.values.isEmpty && rounds.values.count >= 4)
        #expect(try check(repository).isSound)
    }
}
