import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Deltas as they are in packs (codec 3).
///
/// Fixtures/repository-v1-delta was written by the first program with such deltas, and must open for ever: two backups of a
/// database in which a few rows changed. `sha256sum` gave the digests of the databases when it was made.
@Suite struct DeltaFormatTests {
    private static let digests = [
        "first": "51c69b53436bdc579135d7effd679977c10e5d7042497125fd3aba2960657990",
        "second": "b0f2a04dbd6dc04e6a53048b638f95b8609b2ed322391404da44ce6cd926fba8",
    ]

    private let folder: TemporaryFolder
    private var path: String { folder("repository") }

    init() throws { folder = try TemporaryFolder() }

    private func copyFixture(_ name: String) throws {
        try FileManager.default.copyItem(atPath: Fixtures.folder + "/" + name, toPath: path)
    }

    private func catalogVersion(_ repository: Repository) throws -> String {
        try run(["sqlite3", repository.catalog.path, "PRAGMA user_version"]).output.trimmingCharacters(in: .newlines)
    }

    /// All chunks of a repository by their codec.
    private func chunks(_ repository: Repository) throws -> [ChunkCodec: [StoredChunk]] {
        var chunks: [ChunkCodec: [StoredChunk]] = [:]
        for pack in try repository.packs() {
            let index = try PackIndex.read(pack, in: repository.layout, repository.protection)
            for chunk in index.storedChunks(in: pack) { chunks[chunk.codec, default: []].append(chunk) }
        }
        return chunks
    }

    // MARK: - The fixture

    @Test func `the fixture is whole, and its databases are those of sha256sum`() throws {
        try copyFixture("repository-v1-delta")
        let repository = try Repository.open(at: path)
        #expect(repository.damages().isEmpty)
        var check = RepositoryCheck(repository, readData: .all) { event in
            if case .finding(let finding) = event, finding.kind != .source { Issue.record("\(finding)") }
        }
        #expect(try check.run().damagedFileCount == 0)
        for (name, digest) in Self.digests {
            let bytes = try repository.file("database.sqlite", in: FileName(name))
            #expect(SHA256Hasher.hash(bytes).hexadecimal == digest)
            #expect(try run(["python3", Fixtures.reader, "restore", path, name, folder(name)]).status == 0)
            #expect(try run(["sha256sum", folder("\(name)/database.sqlite")]).output.hasPrefix(digest))
        }
        let deltas = try #require(try chunks(repository)[.middleAgainstBase])
        #expect(deltas.count >= 3 && deltas.allSatisfy { $0.storedLength < $0.plainLength / 4 })
        #expect(try run(["python3", Fixtures.reader, "packs", path]).status == 0)
        // Statistics count it with the deltas of older programs.
        let statistics = try repository.statistics(of: repository.snapshots())
        #expect(statistics.deltas == statistics.byCodec[.middleAgainstBase])
    }

    // MARK: - What older programs see

    /// They rebuild a catalog of another version, instead of calling a codec damage in the middle of a backup.
    @Test func `a catalog has a version that older programs do not know from its first such delta on`() throws {
        let repository = try Repository.create(at: path)
        var rows = TestData.rows(8_000, seed: 31)
        func store(_ name: FileName, earlier: FileContent?) throws -> FileContent {
            let writer = try repository.makeWriter()
            let stored = try writer.store(MemorySource(rows), policy: .structuredText, earlier: earlier)
            let entry = TreeEntry.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
            try writer.commit(named: name, entries: [entry])
            return stored.content
        }
        let first = try store("a", earlier: nil)
        #expect(try catalogVersion(repository) == "2")
        rows[100_000] = 0x23
        _ = try store("b", earlier: first)
        #expect(try chunks(repository)[.middleAgainstBase] != nil)
        #expect(try catalogVersion(repository) == "3")
        // It is still the same catalog.
        let generation = "SELECT generation FROM repository"
        let before = try run(["sqlite3", repository.catalog.path, generation]).output
        let next = try Repository.open(at: path)
        #expect(next.catalog.damage == nil && next.catalog.replacementCount == 0)
        #expect(try run(["sqlite3", next.catalog.path, generation]).output == before)
        #expect(try next.file("file", in: "b") == rows)
        // One that is rebuilt from the packs gets it, too.
        try FileSystem.removeFile(folder("repository/catalog.sqlite"))
        #expect(try catalogVersion(Repository.open(at: path)) == "3")
    }

    @Test func `a repository of older deltas keeps its catalog as it was`() throws {
        try copyFixture("repository-v1")
        let repository = try Repository.open(at: path)
        #expect(try catalogVersion(repository) == "2")
        let statistics = try repository.statistics(of: repository.snapshots())
        #expect(statistics.deltas == statistics.byCodec[.deflateAgainstBase] && statistics.deltas.chunkCount > 0)
    }

    // MARK: - Sealed

    @Test func `an encrypted repository has them, and the independent reader opens them`() throws {
        let repository = try Repository.create(
            at: path, password: EncryptionTests.secret("secret"), cost: EncryptionTests.cheap)
        var rows = TestData.rows(8_000, seed: 32)
        var earlier: FileContent?
        for name: FileName in ["a", "b"] {
            let writer = try repository.makeWriter()
            let stored = try writer.store(MemorySource(rows), policy: .structuredText, earlier: earlier)
            let entry = TreeEntry.file(name: "file", mode: 0o600, modificationTime: Timestamp(seconds: 5), stored: stored)
            try writer.commit(named: name, entries: [entry])
            earlier = stored.content
            rows[rows.count / 2] = 0x23
        }
        rows = try repository.file("file", in: "b")
        let deltas = try #require(try chunks(repository)[.middleAgainstBase])
        for pack in try repository.packs() { #expect(repository.verifyPack(pack).isEmpty) }
        try writeFile(folder("password"), Array("secret\n".utf8))
        let reader = ["env", "BACKUPFS_PASSWORD_FILE=\(folder("password"))", "python3", Fixtures.reader]
        #expect(try run(reader + ["packs", path]).output.contains(" 3 \(deltas[0].plainLength)\n"))
        #expect(try run(reader + ["restore", path, "b", folder("out")]).status == 0)
        #expect(try readFile(folder("out/file")) == rows)
    }

    // MARK: - Hostile packs

    private struct Forged {
        let plain: [UInt8]
        let stored: [UInt8]
        let codec: ChunkCodec
        let base: [UInt8]?
    }

    /// Writes a pack in which names and checksums are right, whatever the stored bytes are.
    private func forge(_ chunks: [Forged], in repository: Repository) throws {
        func id(_ bytes: [UInt8]) -> ChunkID { ChunkID(SHA256Hasher.hash(bytes)) }
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
        for chunk in chunks {
            let entry = PackEntry(
                id: id(chunk.plain), codec: chunk.codec, storedLength: UInt32(chunk.stored.count),
                plainLength: UInt32(chunk.plain.count), plainCRC32: CRC32.of(chunk.plain),
                storedCRC32: CRC32.of(chunk.stored), base: chunk.base.map(id))
            try chunk.stored.withUnsafeBytes { try writer.append(entry, $0) }
        }
        _ = try writer.finish(packsFolder: repository.layout.packs)
    }

    @Test func `a delta that is not one is damage, whatever its checksums say`() throws {
        let base = TestData.random(500, seed: 1)
        let near = Array(base[..<200]) + [1, 2, 3] + Array(base[200...])
        let literal: [UInt8] = [0x01, 3, 0, 0xFC, 0xFF, 1, 2, 3]
        let header: [UInt8] = [200, 0, 44, 1]
        let stored: [([UInt8], isSound: Bool)] = [
            (header + literal, true),
            (header + literal + [0], false),
            (header + literal.dropLast(), false),
            (header, false),
            ([200], false),
            ([201, 0, 44, 1] + literal, false),
            ([200, 0, 0xFF, 0xFF] + literal, false),
            ([0, 0, 0, 0] + literal, false),
        ]
        for (number, (bytes, isSound)) in stored.enumerated() {
            let repository = try Repository.create(at: folder("\(number)"))
            try forge(
                [
                    Forged(plain: base, stored: base, codec: .raw, base: nil),
                    Forged(plain: near, stored: bytes, codec: .middleAgainstBase, base: base),
                ], in: repository)
            let opened = try Repository.open(at: folder("\(number)"))
            let id = ChunkID(SHA256Hasher.hash(near))
            if isSound {
                #expect(try opened.plainBytes(of: id) == near)
            } else {
                #expect(errorCode { _ = try opened.plainBytes(of: id) } == .repositoryDamaged, "\(number)")
            }
            let pack = try #require(try opened.packs().first)
            #expect(opened.verifyPack(pack).map(\.code) == (isSound ? [] : [.repositoryDamaged]), "\(number)")
            let reader = try run(["python3", Fixtures.reader, "packs", folder("\(number)")])
            #expect((reader.status == 0) == isSound, "\(number)")
        }
    }

    @Test(arguments: [ChunkCodec.middleAgainstBase, .deflateAgainstBase])
    func `a base that needs a base is refused, in either form`(codec: ChunkCodec) throws {
        let repository = try Repository.create(at: path)
        let (one, two) = (TestData.random(300, seed: 1), TestData.random(300, seed: 2))
        try forge(
            [
                Forged(plain: one, stored: [44, 1, 0, 0], codec: .middleAgainstBase, base: two),
                Forged(plain: two, stored: [44, 1, 0, 0], codec: codec, base: one),
            ], in: repository)
        for bytes in [one, two] {
            let id = ChunkID(SHA256Hasher.hash(bytes))
            #expect(errorCode { _ = try repository.plainBytes(of: id) } == .repositoryDamaged)
        }
    }

    @Test func `an index entry of a delta is whole only with its base`() throws {
        let id = ChunkID(SHA256Hasher.hash([1]))
        let entry = PackEntry(
            id: id, codec: .middleAgainstBase, storedLength: 7, plainLength: 300, plainCRC32: 1, storedCRC32: 2, base: id)
        var writer = ByteWriter()
        entry.encode(into: &writer)
        #expect(writer.bytes.count == 81 && writer.bytes[32] == 3)
        var reader = ByteReader(writer.bytes)
        #expect(try PackEntry(decoding: &reader) == entry)
        for count in 0..<81 {
            var reader = ByteReader(Array(writer.bytes[..<count]))
            #expect(errorCode { _ = try PackEntry(decoding: &reader) } == .repositoryDamaged, "\(count)")
        }
    }
}
