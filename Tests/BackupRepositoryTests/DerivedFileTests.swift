import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Derived files, of which a folder records the CRC-32 alone (directory objects of version 3).
///
/// Fixtures/repository-v1-derived was written by the first program with such files, and must open for ever. `sha256sum` gave the
/// digests of its exports when it was made.
@Suite struct DerivedFileTests {
    private static let digests = [
        "first": "22218283e12246ae26c2b699a3afe2c9bcafbfa3ba139c25a82c14f09ccabb56",
        "second": "84839dfac4b11e8f6e284d3b99b4283fac1ac8c220ec8c15f0f01b825e8b69a3",
    ]

    private let folder: TemporaryFolder
    private var path: String { folder("repository") }
    private var catalog: String { folder("repository/catalog.sqlite") }

    init() throws { folder = try TemporaryFolder() }

    private func copyFixture() throws {
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/repository-v1-derived", toPath: path)
    }

    private func export(_ snapshot: FileName, in repository: Repository) throws -> TreeEntry {
        let root = try repository.rootDirectory(of: #require(repository.snapshot(named: snapshot)))
        return try #require(root.entry(named: "export.json"))
    }

    private func execute(_ sql: String) throws { #expect(try run(["sqlite3", catalog, sql]).status == 0) }

    // MARK: - The format

    @Test func `the fixture is whole, and its digests are those of sha256sum`() throws {
        try copyFixture()
        let repository = try Repository.open(at: path)
        #expect(repository.damages().isEmpty)
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event, finding.kind != .source { Issue.record("\(finding)") }
        }
        #expect(try check.run().damagedFileCount == 0)
        for (name, digest) in Self.digests {
            let entry = try export(FileName(name), in: repository)
            #expect(entry.checksums == nil && entry.size == 4_514)
            #expect(try repository.checksums(of: entry)?.sha256.hexadecimal == digest)
            #expect(try run(["python3", Fixtures.reader, "restore", path, name, folder(name)]).status == 0)
            #expect(try run(["sha256sum", folder("\(name)/export.json")]).output.hasPrefix(digest))
        }
    }

    @Test func `only a folder with a derived file has version 3`() throws {
        let derived = TreeEntry.derivedFile(
            name: "e", mode: 0o600, modificationTime: Timestamp(seconds: 5), content: FileContent(literal: [65]),
            crc32: 0xd3d9_9e8b)
        let bytes = try Directory(entries: [derived]).encode()
        let known: [UInt8] =
            Array("BFSD".utf8) + [3, 0, 0, 0, 1, 0, 0, 0] + [1, 64, 1, UInt8(ascii: "e")] + [0x80, 0x81, 0, 0]
            + [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + [0x8b, 0x9e, 0xd9, 0xd3] + [1, 0, 0, 0, 0, 1, 0, 0, 0, 65]
        #expect(bytes == known)
        #expect(try Directory(decoding: bytes).entries == [derived])
        // The flag is none of the versions before.
        for version: UInt8 in [1, 2] {
            var older = bytes
            older[4] = version
            #expect(errorCode { _ = try Directory(decoding: older) } == .unsupportedVersion)
        }
        var twice = bytes
        twice[13] = 65
        #expect(errorCode { _ = try Directory(decoding: twice) } == .repositoryDamaged)
        var without = bytes
        without[13] = 0
        #expect(errorCode { _ = try Directory(decoding: without) } == .repositoryDamaged)
    }

    @Test func `equal bytes are seen by checksums where both have them, else by content`() {
        func derived(_ bytes: [UInt8]) -> TreeEntry {
            .derivedFile(
                name: "e", mode: 0o600, modificationTime: Timestamp(seconds: 5), content: FileContent(literal: bytes),
                crc32: 7)
        }
        #expect(derived([1]).isSameFile(as: derived([1])))
        #expect(!derived([1]).isSameFile(as: derived([2])))
    }

    // MARK: - What is kept

    @Test func `digests are computed once, and the next program has them from the catalog`() throws {
        try copyFixture()
        let expected = Self.digests["first"]
        do {
            let repository = try Repository.open(at: path)
            #expect(try repository.checksums(of: export("first", in: repository))?.sha256.hexadecimal == expected)
        }
        let next = try Repository.open(at: path)
        let entry = try export("first", in: next)
        // All data are gone: the digests cannot come from them.
        let packs = folder("repository/packs")
        #expect(try run(["sh", "-c", "find '\(packs)' -name '*.pack' -exec truncate -s 0 {} +"]).status == 0)
        #expect(try next.checksums(of: entry)?.sha256.hexadecimal == expected)
        #expect(next.knowsChecksums(of: entry))
    }

    @Test func `a row that is not whole is not believed`() throws {
        try copyFixture()
        let first = try Repository.open(at: path)
        let expected = try first.checksums(of: export("first", in: first))
        let length = 4 + 16 + 20 + 32 + 16
        #expect(try run(["sqlite3", catalog, "SELECT length(sums) FROM digests"]).output == "\(length)\n")
        let stored = try run(["sqlite3", catalog, "SELECT hex(sums) FROM digests"]).output.dropLast()
        for position in 0..<length {
            var digits = Array(stored.utf8)
            digits[position * 2] = digits[position * 2] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            try execute("UPDATE digests SET sums = x'\(String(decoding: digits, as: UTF8.self))'")
            let repository = try Repository.open(at: path)
            #expect(try repository.checksums(of: export("first", in: repository)) == expected)
            // It was computed again, and kept.
            #expect(try run(["sqlite3", catalog, "SELECT hex(sums) FROM digests"]).output.dropLast() == stored)
        }
        for wrong in ["''", "7", "'text'", "x'00'"] {
            try execute("UPDATE digests SET sums = \(wrong)")
            let repository = try Repository.open(at: path)
            #expect(try repository.checksums(of: export("first", in: repository)) == expected)
        }
        // The row of another file.
        let entry = try export("second", in: first)
        try execute("UPDATE digests SET content = x'\(entry.content.fingerprint.hexadecimal)'")
        let other = try Repository.open(at: path)
        #expect(try other.checksums(of: export("second", in: other))?.sha256.hexadecimal == Self.digests["second"])
    }

    @Test func `the table is made for the first row, and one that cannot be used does not matter`() throws {
        try copyFixture()
        let expected = Self.digests["second"]
        let first = try Repository.open(at: path)
        #expect(try run(["sqlite3", catalog, "SELECT count(*) FROM sqlite_master WHERE name = 'digests'"]).output == "0\n")
        #expect(try first.checksums(of: export("second", in: first))?.sha256.hexadecimal == expected)
        #expect(try run(["sqlite3", catalog, "SELECT count(*) FROM digests"]).output == "1\n")
        try execute("DROP TABLE digests; CREATE TABLE digests (other TEXT)")
        for _ in 0..<2 {
            let next = try Repository.open(at: path)
            #expect(try next.checksums(of: export("second", in: next))?.sha256.hexadecimal == expected)
        }
        #expect(try run(["sqlite3", catalog, "SELECT count(*) FROM digests"]).output == "0\n")
    }

    @Test func `a damaged export has no checksums, and does not end a list of files`() throws {
        try copyFixture()
        let repository = try Repository.open(at: path)
        let entry = try export("first", in: repository)
        let wrong = TreeEntry.derivedFile(
            name: "export.json", mode: 0o600, modificationTime: entry.modificationTime, content: entry.content, crc32: 1)
        #expect(try repository.checksumsIfReadable(of: wrong) == nil)
        #expect(try repository.checksumsIfReadable(of: entry)?.sha256.hexadecimal == Self.digests["first"])
        #expect(!repository.knowsChecksums(of: wrong) && repository.knowsChecksums(of: entry))
    }

    @Test func `the catalog of an encrypted repository does not show the digests`() throws {
        let repository = try Repository.create(
            at: path, password: EncryptionTests.secret("secret"), cost: EncryptionTests.cheap)
        let bytes = Array(String(repeating: "A line of the export.\n", count: 40).utf8)
        let writer = try repository.makeWriter()
        let stored = try writer.store(bytes, policy: .structuredText)
        try writer.publishChunks()
        let entry = TreeEntry.derivedFile(
            name: "export.json", mode: 0o600, modificationTime: Timestamp(seconds: 5), content: stored.content,
            crc32: stored.checksums.crc32)
        #expect(try repository.checksums(of: entry) == stored.checksums)
        let row = try run(["sqlite3", repository.catalog.path, "SELECT hex(content) || hex(sums) FROM digests"]).output
            .lowercased()
        #expect(row.count == 2 * (32 + 88) + 1)
        let sums = stored.checksums
        for digest in [sums.md5.hexadecimal, sums.sha1.hexadecimal, sums.sha256.hexadecimal] {
            #expect(!row.contains(digest.prefix(12)))
        }
        writer.abandon()
    }

    @Test func `bytes that are not those of the recorded CRC-32 have no digests`() throws {
        try copyFixture()
        let repository = try Repository.open(at: path)
        let entry = try export("first", in: repository)
        let wrong = TreeEntry.derivedFile(
            name: "export.json", mode: 0o600, modificationTime: entry.modificationTime, content: entry.content, crc32: 1)
        #expect(errorCode { _ = try repository.checksums(of: wrong) } == .repositoryDamaged)
        // Nor are those of the right one taken for it.
        _ = try repository.checksums(of: entry)
        #expect(errorCode { _ = try repository.checksums(of: wrong) } == .repositoryDamaged)
    }

    // MARK: - Large derived files

    @Test func `a derived file of 1 MiB or more gets its CRC-32 alone, a smaller one all`() throws {
        let repository = try Repository.create(at: path)
        let writer = try repository.makeWriter()
        let limit = 1 << 20
        let rows = TestData.rows(40_000, seed: 52)
        var entries: [TreeEntry] = []
        for count in [limit - 1, limit, limit + 1, rows.count] {
            let stored = try writer.storeDerived(MemorySource(Array(rows[..<count])), policy: .structuredText)
            let entry = TreeEntry.derivedFile(
                name: FileName("\(count)"), mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
            #expect((entry.checksums == nil) == (count >= limit), "\(count)")
            entries.append(entry)
        }
        // Chunks and CRC-32 are those of any other way.
        let known = try writer.store(MemorySource(rows), policy: .structuredText)
        #expect(entries[3].content == known.content && entries[3].crc32 == known.checksums.crc32)
        let small = TreeEntry.file(
            name: "small", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: try writer.store([1], policy: .media))
        #expect(try Directory(entries: [small]).encode()[4] == 1)
        #expect(try Directory(entries: entries).encode()[4] == 3)
        try writer.commit(named: "a", entries: entries)
        for entry in entries {
            #expect(try repository.checksums(of: entry) == ContentHasher.hash(Array(rows[..<Int(entry.size)])))
            // The same file of a later backup has another time, and what is known of its bytes.
            let later = entry.renewed(at: Timestamp(seconds: 9))
            #expect(later.hasSameBytes(as: entry) && !later.isSameFile(as: entry))
            #expect(repository.knowsChecksums(of: later))
        }
        // Beside a backup of an older program, which has all digests, the chunks tell.
        let older = TreeEntry.file(name: "a", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: known)
        #expect(entries[3].hasSameBytes(as: older) && !entries[2].hasSameBytes(as: older))
        #expect(try run(["python3", Fixtures.reader, "restore", path, "a", folder("out")]).status == 0)
    }
}
