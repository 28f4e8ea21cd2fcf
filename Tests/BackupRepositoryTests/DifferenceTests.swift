import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Files that are nearly as they were: what of them is stored, and that they come back.
@Suite struct DifferenceTests {
    private let folder: TemporaryFolder
    private let repository: Repository

    init() throws {
        folder = try TemporaryFolder()
        repository = try Repository.create(at: folder("repository"))
    }

    /// Stores a file as a snapshot of its own, beside what the newest snapshot has of it.
    /// - Returns: the bytes it added.
    private func store(_ bytes: [UInt8], _ policy: ChunkingPolicy, as name: FileName) throws -> UInt64 {
        let earlier = try repository.snapshots().last.flatMap {
            try repository.rootDirectory(of: $0).entry(named: "file")?.content
        }
        let writer = try repository.makeWriter()
        let stored = try writer.store(MemorySource(bytes), policy: policy, earlier: earlier)
        let entry = TreeEntry.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
        let time = Int64(1_000 + repository.snapshots().count)
        try writer.commit(named: name, entries: [entry], seconds: time)
        return writer.storedByteCount
    }

    private func chunks(_ name: FileName) throws -> [StoredChunk] {
        let snapshot = try #require(repository.snapshot(named: name))
        let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: "file"))
        return try repository.pieces(of: entry.content).compactMap { if case .chunk(let chunk) = $0 { chunk } else { nil } }
    }

    @Test func whatIsAppendedIsHeldAgainstTheLastChunk() throws {
        let rows = pages(300)
        let before = Array(rows[..<(200 * 4_096)])
        _ = try store(before, .database(pageSizeBytes: 4_096), as: "a")
        let last = try #require(try chunks("a").last).id
        _ = try store(rows, .database(pageSizeBytes: 4_096), as: "b")
        let new = try chunks("b").dropFirst(50)
        #expect(new.count == 25)
        // Random rows have few words in common; where it pays, the last chunk is the base, and nothing else ever.
        for chunk in new where chunk.codec == .middleAgainstBase { #expect(chunk.base == last) }
        #expect(try repository.file("file", in: "b") == rows)

        // The same rows once more, behind the last one: each is nearly all there.
        let tail = Array(before.suffix(4 * 4_096))
        _ = try store(before + tail + tail, .database(pageSizeBytes: 4_096), as: "c")
        #expect(try chunks("c").suffix(2).allSatisfy { $0.id == last })
        var changed = tail
        changed[5_000] = UInt8(ascii: "#")
        let grown = try store(before + tail + changed, .database(pageSizeBytes: 4_096), as: "d")
        #expect(grown < 3_000, "\(grown) bytes for a copy with one byte changed")
        #expect(try repository.file("file", in: "d") == before + tail + changed)
    }

    @Test func listsOfChunksAreStoredAsTheirDifferences() throws {
        // 500 pieces: their digests alone take 16,000 bytes.
        var database = pages(2_000)
        _ = try store(database, .database(pageSizeBytes: 4_096), as: "a")
        for page in [3, 900, 1_500] { database[page * 4_096] ^= 1 }
        let grown = try store(database, .database(pageSizeBytes: 4_096), as: "b")
        #expect(grown < 3_000, "\(grown) bytes for three changed pages")
        #expect(try repository.file("file", in: "b") == database)
        // Where nothing else is left of the catalog, the packs tell how to read lists that need a list.
        try FileSystem.removeFile(folder("repository") + "/catalog.sqlite")
        let reopened = try Repository.open(at: folder("repository"))
        #expect(try reopened.file("file", in: "b") == database)
        #expect(try reopened.file("file", in: "a") != database)
    }

    /// Pages of text-like data, as a database of rows has them.
    private func pages(_ count: Int) -> [UInt8] {
        let rows = TestData.rows(count * 4_096 / 50, seed: 21)
        return Array(rows[..<(count * 4_096)])
    }

    @Test func changedPagesAreStoredAsTheirDifferences() throws {
        var database = pages(2_000)
        let first = try store(database, .database(pageSizeBytes: 4_096), as: "a")
        #expect(first > 1_000_000)
        // A few bytes on each of 100 pages, none in the same 16 KiB as another.
        for page in stride(from: 0, to: 2_000, by: 20) {
            for offset in [100, 2_000, 3_900] { database[page * 4_096 + offset] = UInt8(ascii: "#") }
        }
        let second = try store(database, .database(pageSizeBytes: 4_096), as: "b")
        // 100 pieces of 16 KiB; whole they would take half a million bytes.
        #expect(second < 50_000, "\(second) bytes for 100 changed pages")
        let changed = try chunks("b").filter { $0.codec == .middleAgainstBase }
        #expect(changed.count == 100)
        #expect(try repository.file("file", in: "b") == database)
        // Once more the same pages: their bases are the whole chunks of the first version.
        for page in stride(from: 0, to: 2_000, by: 20) { database[page * 4_096 + 700] = UInt8(ascii: "!") }
        let third = try store(database, .database(pageSizeBytes: 4_096), as: "c")
        #expect(third < 50_000, "\(third) bytes for 100 changed pages")
        let whole = Set(try chunks("a").map(\.id))
        for chunk in try chunks("c") where chunk.codec == .middleAgainstBase {
            #expect(whole.contains(try #require(chunk.base)))
        }
        #expect(try repository.file("file", in: "c") == database)
        try readIndependently("c", equals: database)
    }

    @Test func changedRowsAreStoredAsTheirDifferences() throws {
        var rows = TestData.rows(60_000, seed: 22)
        let first = try store(rows, .structuredText, as: "a")
        for position in stride(from: 10_000, to: rows.count, by: 100_000) { rows[position] = UInt8(ascii: "7") }
        let changes = rows.count / 100_000
        let second = try store(rows, .structuredText, as: "b")
        #expect(second < UInt64(changes) * 1_500 + 10_000, "\(second) bytes for \(changes) changes, of \(first)")
        #expect(try repository.file("file", in: "b") == rows)
        try readIndependently("b", equals: rows)
    }

    /// What has nothing to do with the old version is stored as if there were none.
    @Test func whatDiffersAltogetherIsStoredWhole() throws {
        _ = try store(pages(50), .database(pageSizeBytes: 4_096), as: "a")
        let other = TestData.random(200_000, seed: 23)
        #expect(try store(other, .database(pageSizeBytes: 4_096), as: "b") >= 200_000)
        #expect(Set(try chunks("b").map(\.codec)) == [.raw])
        #expect(try repository.file("file", in: "b") == other)
    }

    @Test func aByteInsertedAtTheStartOfALargeFileMovesNothing() throws {
        var photo = TestData.random(48 << 20, seed: 24)
        #expect(try store(photo, .media, as: "a") > 48 << 20)
        photo.insert(7, at: 0)
        #expect(try store(photo, .media, as: "b") < 4 << 20 + 100_000)
        #expect(try repository.file("file", in: "b") == photo)
        #expect(try store(photo, .media, as: "c") < 10_000)
    }

    /// A large file goes through several threads, a small one through one: both must cut alike.
    @Test func largeAndSmallFilesAreCutAlike() throws {
        let text = TestData.rows(200_000, seed: 25)
        #expect(text.count > 8 << 20)
        let writer = try repository.makeWriter()
        let large = try writer.store(MemorySource(text), policy: .structuredText)
        let before = writer.storedByteCount
        let small = try writer.store(text, policy: .structuredText)
        #expect(large == small && writer.storedByteCount == before)
        try text.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: folder("text"))) }
        let sums = String(
            decoding: try run(["sh", "-c", "md5sum < text; sha1sum < text; sha256sum < text"], in: folder.path).bytes,
            as: UTF8.self)
        let expected = [
            large.checksums.md5.hexadecimal, large.checksums.sha1.hexadecimal, large.checksums.sha256.hexadecimal,
        ]
        #expect(sums == expected.map { "\($0)  -\n" }.joined())
    }

    /// A base that is damaged is no base, and no reason to fail.
    @Test func aDamagedBaseIsNotUsed() throws {
        var database = pages(200)
        _ = try store(database, .database(pageSizeBytes: 4_096), as: "a")
        let victim = try #require(try chunks("a").first)
        let path = repository.layout.packPath(of: victim.pack)
        try Damage.flip(path, at: Int(victim.packOffset) + 40, 0xff)
        database[50] = UInt8(ascii: "#")
        // Opened again: a reader trusts what it has checked before.
        let other = try Repository.open(at: folder("repository"))
        let snapshot = try #require(other.snapshots().last)
        let earlier = try #require(try other.rootDirectory(of: snapshot).entry(named: "file")).content
        let writer = try other.makeWriter()
        let stored = try writer.store(MemorySource(database), policy: .database(pageSizeBytes: 4_096), earlier: earlier)
        let entry = TreeEntry.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
        try writer.commit(named: "b", entries: [entry], seconds: 2_000)
        #expect(try other.file("file", in: "b") == database)
    }

    /// They may be in a pack that only a later version of this program reads.
    @Test func `an earlier version whose lists cannot be read is nothing to compare with`() throws {
        var database = pages(2_000)
        _ = try store(database, .database(pageSizeBytes: 4_096), as: "a")
        let snapshot = try #require(repository.snapshot(named: "a"))
        let earlier = try #require(try repository.rootDirectory(of: snapshot).entry(named: "file")).content
        #expect(earlier.hasLists)
        let lists = try repository.packs().filter { try repository.packIndex(of: $0).kind == .metadata }
        for pack in lists { try FileSystem.removeFile(repository.layout.packPath(of: pack)) }
        let other = try Repository.open(at: folder("repository"))
        database[50] = UInt8(ascii: "#")
        let writer = try other.makeWriter()
        let stored = try writer.store(MemorySource(database), policy: .database(pageSizeBytes: 4_096), earlier: earlier)
        let entry = TreeEntry.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
        try writer.commit(named: "b", entries: [entry], seconds: 2_000)
        #expect(try other.file("file", in: "b") == database)
    }

    /// Restores a snapshot with the reader that shares no code with the program.
    private func readIndependently(_ name: FileName, equals expected: [UInt8]) throws {
        let result = try run(["python3", Fixtures.reader, "restore", folder("repository"), name.description, folder("out")])
        try #require(result.status == 0)
        #expect(try readFile(folder("out/file")) == expected)
    }
}
