import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Fixtures/repository-v1 was written by the first version of this program and must open for ever, and so must the encrypted one,
/// which holds the same. Their files are known by the checksums that `sha256sum` gave for their data when they were made.
@Suite struct FixtureTests {
    struct Fixture: Sendable, CustomTestStringConvertible {
        let name: String
        let id: String

        static let plain = Fixture(name: "repository-v1", id: "5525acd83f98248c528d745781eb829f")
        static let encrypted = Fixture(name: "repository-v1-encrypted", id: "d49d691121fdaaa7620270844550dc78")

        init(name: String, id: String) {
            self.name = name
            self.id = id
        }
        var testDescription: String { name }
    }

    static let fixtures = [Fixture.plain, .encrypted]

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let time = Timestamp(seconds: 1_767_225_600, nanoseconds: 123_456_789)

    private struct Expected: Sendable, CustomTestStringConvertible {
        let path: [FileName]
        let size: UInt64
        let sha256: String
        var testDescription: String { path.map(\.description).joined(separator: "/") }
    }

    private static let expected: [Expected] = [
        Expected(
            path: ["media", "IMG_0001.jpg"], size: 3000,
            sha256: "440ce287f6aced4c28139a6fe0fab91c25c269706deb0ba15d6a7a6958557ef1"),
        Expected(
            path: ["media", FileName(bytes: Array("na\\me\n".utf8) + [0xff])], size: 3,
            sha256: "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"),
        Expected(
            path: ["database.sqlite"], size: 327680,
            sha256: "de005f2b4d2d1620e06eb4ed6231bd8c586fe53d8db08978593b4dfca9bffa37"),
        Expected(
            path: ["empty"], size: 0,
            sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        Expected(
            path: ["data", "expenses.json"], size: 21647,
            sha256: "1f10743a4ce347e3f398338de2d5e2c8a001799af7833730f879f9531148f40b"),
        Expected(
            path: ["near.bin"], size: 3000,
            sha256: "f2c1c2e77efcfa32c6bde48c3f195e401b86cad6569400db3187c60fd4ef0573"),
        Expected(
            path: ["export.json"], size: 21662,
            sha256: "b697be2464ac0e5b3b120477605a5957d8c1907218b367bea4b3d500bdbbd367"),
    ]

    /// A copy: opening writes a catalog, and locks are taken.
    private func openCopy(_ fixture: Fixture) throws -> Repository {
        try FileManager.default.copyItem(atPath: "\(Fixtures.folder)/\(fixture.name)", toPath: folder("repository"))
        return try Repository.open(at: folder("repository")) { (_) throws(BackupError) in
            .password(EncryptionTests.secret(FixtureData.password))
        }
    }

    /// Runs the independent reader, which takes the password from a file.
    private func reader(_ arguments: String...) throws -> ProgramResult {
        try writeFile(folder("password"), Array((FixtureData.password + "\n").utf8))
        return try run(["env", "BACKUPFS_PASSWORD_FILE=\(folder("password"))", "python3", Fixtures.reader] + arguments)
    }

    private func entry(_ path: [FileName], in repository: Repository) throws -> TreeEntry {
        let snapshot = try #require(repository.snapshot(named: "renamed"))
        var directory = try repository.rootDirectory(of: snapshot)
        for name in path.dropLast() { directory = try repository.directory(of: try #require(directory.entry(named: name))) }
        let name = try #require(path.last)
        return try #require(directory.entry(named: name))
    }

    @Test(arguments: fixtures) func snapshotsAreThere(fixture: Fixture) throws {
        let repository = try openCopy(fixture)
        #expect(repository.damages().isEmpty)
        #expect(repository.id == fixture.id)
        #expect(repository.snapshots().map(\.name) == ["renamed", "before import"])
        let first = try #require(repository.snapshot(named: "renamed"))
        #expect(first.isPinned && first.verifiedAt == Timestamp(seconds: 1_767_312_000))
        #expect(
            first.kind == .snapshot && first.creationTime == Self.time && first.record.name == "first"
                && first.record.parent == nil)
        #expect(first.record.archiveSizeBytes == 123_456_789_012 && first.record.archiveLayout == ["media/": "photos/"])
        #expect(first.record.attributes == ["app": "ev-charging-tracker", "device": "Gerät", "records": "1200"])
        let totals = first.record.root.totals
        #expect(totals.fileCount == 7 && totals.directoryCount == 2 && totals.symbolicLinkCount == 1)
        #expect(totals.byteCount == 376992)
        let second = try #require(repository.snapshot(named: "before import"))
        #expect(second.kind == .safety && second.record.parent == first.id && !second.isPinned && second.verifiedAt == nil)
        #expect(try repository.rootDirectory(of: second).entries.isEmpty)
    }

    @Test(arguments: fixtures) func filesAreThere(fixture: Fixture) throws {
        let repository = try openCopy(fixture)
        for expected in Self.expected {
            let entry = try entry(expected.path, in: repository)
            #expect(entry.size == expected.size && entry.checksums?.sha256.hexadecimal == expected.sha256)
            let bytes = try repository.bytes(of: entry.content, limitBytes: 1 << 20)
            try writeFile(folder("file"), bytes)
            let real = try run(["sha256sum", folder("file")]).bytes
            #expect(String(decoding: real.prefix(64), as: UTF8.self) == expected.sha256)
        }
        let photo = try entry(["media", "IMG_0001.jpg"], in: repository)
        #expect(photo.mode == 0o100640 && photo.modificationTime == Timestamp(seconds: 1_700_000_000, nanoseconds: 1))
        #expect(photo.sourceIdentity == SourceIdentity(inode: 4711, changeTime: Timestamp(seconds: 1_700_000_001)))
        #expect(try entry(["media", "link"], in: repository).linkTarget == Array("IMG_0001.jpg".utf8))
        var codecs: Set<ChunkCodec> = []
        for path: [FileName] in [["database.sqlite"], ["media", "IMG_0001.jpg"], ["near.bin"]] {
            for case .chunk(let chunk) in try repository.pieces(of: try entry(path, in: repository).content) {
                codecs.insert(chunk.codec)
            }
        }
        #expect(codecs == [.deflate, .raw, .deflateAgainstBase])
    }

    @Test(arguments: fixtures) func packsAreWhole(fixture: Fixture) throws {
        let repository = try openCopy(fixture)
        #expect(try repository.packs().count == 3)
        for pack in try repository.packs() { #expect(repository.verifyPack(pack).isEmpty) }
        #expect(try reader("packs", folder("repository")).status == 0)
        #expect(try reader("restore", folder("repository"), "first", folder("out")).status == 0)
    }

    @Test func anEncryptedRepositoryNeedsItsPassword() throws {
        _ = try openCopy(.encrypted)
        #expect(errorCode { _ = try Repository.open(at: folder("repository")) } == .wrongPassword)
        let wrong = errorCode {
            _ = try Repository.open(at: folder("repository")) { (_) throws(BackupError) in
                .password(EncryptionTests.secret("correct horse battery stable"))
            }
        }
        #expect(wrong == .wrongPassword)
    }

    /// The example of Docs/reference/repository-format.md.
    @Test func theKeysAreThoseOfTheDocument() throws {
        let repository = try openCopy(.encrypted)
        #expect(
            try reader("keys", folder("repository")).output == """
                master 12add501e437482e8006f97a1858c5b1a8f9f459d8bf85cf28139cdf84fab384
                chunks cdce6abca7e96ee79452ad8f459b939dbf5a261476c8a95d818ee29dec76b984
                structures cae7a3927858bccd6b3ff46a08ebd567d49e7ad6cd924be943064956439ff19c
                names 1148181149e88f4dbea21f3154389cdb01ad43db9079752219c7c6f9f6f0f395
                catalog fc1d2a2138fcf5b72b55af425ffc31486f2f1ac9e80030c6a2bddc05463f8917
                gear-seed 77eedb5bd8d97573

                """)
        #expect(
            repository.masterKey.map { $0.withUnsafeBytes { Hexadecimal.encode($0) } }
                == "12add501e437482e8006f97a1858c5b1a8f9f459d8bf85cf28139cdf84fab384")
    }

    /// This version still cuts and names as the first one did: the same data costs nothing.
    @Test(arguments: fixtures) func theSameDataIsFoundAgain(fixture: Fixture) throws {
        let repository = try openCopy(fixture)
        let writer = try repository.makeWriter()
        for (_, bytes, policy) in FixtureData.files { _ = try writer.store(bytes, policy: policy) }
        #expect(writer.storedByteCount == 0)
        writer.abandon()
    }
}

/// The fixtures' data, and how they were made. `BACKUPFS_WRITE_FIXTURE=FOLDER` makes others, FOLDER and FOLDER-encrypted, for a
/// later version.
@Suite struct FixtureData {
    static let password = "correct horse battery staple"
    static let photo = TestData.random(3_000, seed: 101)
    static let rows = TestData.rows(400, seed: 102)
    /// 20 pages of 16 KiB, each with its number: more chunks than stand in a directory entry.
    static let database: [UInt8] = (0..<20).flatMap { page in
        Array("page \(page)".utf8) + [UInt8](repeating: 0, count: 16_384 - "page \(page)".utf8.count)
    }
    static let near: [UInt8] = {
        var bytes = photo
        bytes[1_500] ^= 1
        return bytes
    }()

    static let files: [(FileName, [UInt8], ChunkingPolicy)] = [
        ("IMG_0001.jpg", photo, .media), ("rows", rows, .structuredText),
        ("database.sqlite", database, .database(pageSizeBytes: 4096)),
    ]

    static let isWanted = ProcessInfo.processInfo.environment["BACKUPFS_WRITE_FIXTURE"] != nil

    @Test(.enabled(if: isWanted)) func write() throws {
        let path = try #require(ProcessInfo.processInfo.environment["BACKUPFS_WRITE_FIXTURE"])
        try write(Repository.create(at: path))
        try write(Repository.create(at: path + "-encrypted", password: EncryptionTests.secret(Self.password)))
    }

    private func write(_ repository: Repository) throws {
        try writeNearChunk(repository)
        let writer = try repository.makeWriter()
        let time = Timestamp(seconds: 1_767_225_600, nanoseconds: 123_456_789)
        func file(_ name: FileName, _ bytes: [UInt8], _ policy: ChunkingPolicy) throws -> TreeEntry {
            .file(name: name, mode: 0o600, modificationTime: time, stored: try writer.store(bytes, policy: policy))
        }
        let media = try writer.store([
            .file(
                name: "IMG_0001.jpg", mode: 0o640, modificationTime: Timestamp(seconds: 1_700_000_000, nanoseconds: 1),
                stored: try writer.store(Self.photo, policy: .media),
                sourceIdentity: SourceIdentity(inode: 4711, changeTime: Timestamp(seconds: 1_700_000_001))),
            try file(FileName(bytes: Array("na\\me\n".utf8) + [0xff]), [1, 2, 3], .media),
            .symbolicLink(name: "link", target: Array("IMG_0001.jpg".utf8), modificationTime: time),
        ])
        let rows = try writer.store(Self.rows, policy: .structuredText)
        let head = Array("{\"expenses\": ".utf8)
        let data = try writer.store([
            .file(name: "expenses.json", mode: 0o600, modificationTime: time, stored: rows)
        ])
        let export = FileContent.concatenating([FileContent(literal: head), rows.content, FileContent(literal: [125, 10])])
        let root = try writer.store([
            .directory(name: "media", mode: 0o750, modificationTime: time, stored: media),
            .directory(name: "data", mode: 0o700, modificationTime: time, stored: data),
            .file(
                name: "export.json", mode: 0o600, modificationTime: time, content: export,
                checksums: ContentHasher.hash(head + Self.rows + [125, 10])),
            try file("database.sqlite", Self.database, .database(pageSizeBytes: 4096)),
            try file("near.bin", Self.near, .media),
            try file("empty", [], .media),
        ])
        let first = try writer.commit(
            SnapshotRecord(
                kind: .snapshot, name: "first", creationTime: time, parent: nil, root: root, archiveSizeBytes: 123_456_789_012,
                archiveLayout: ["media/": "photos/"],
                attributes: ["app": "ev-charging-tracker", "device": "Gerät", "records": "1200"]))
        try repository.renameSnapshot(first.id, to: "renamed")
        try repository.setPinned(first.id, true)
        try repository.setVerified(first.id, at: Timestamp(seconds: 1_767_312_000))
        let second = try repository.makeWriter()
        _ = try second.commit(
            SnapshotRecord(
                kind: .safety, name: "before import", creationTime: Timestamp(seconds: time.seconds + 60), parent: first.id,
                root: try second.store([TreeEntry]()), archiveSizeBytes: 22, archiveLayout: [:], attributes: [:]))
    }

    /// A pack with the photo and, against it, its near duplicate.
    private func writeNearChunk(_ repository: Repository) throws {
        let protection = repository.protection
        let base = protection.chunkID(of: Self.photo)
        var stored: [UInt8] = []
        var deflater = Deflater(level: 6)
        Self.near.withUnsafeBytes { plain in
            Self.photo.withUnsafeBytes { deflater.compress(plain, dictionary: $0, into: &stored) }
        }
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: protection)
        let crc = CRC32.of(Self.photo)
        let photoEntry = PackEntry(
            id: base, codec: .raw, storedLength: 3_000, plainLength: 3_000, plainCRC32: crc, storedCRC32: crc, base: nil)
        let nearEntry = PackEntry(
            id: protection.chunkID(of: Self.near), codec: .deflateAgainstBase, storedLength: UInt32(stored.count),
            plainLength: 3_000, plainCRC32: CRC32.of(Self.near), storedCRC32: CRC32.of(stored), base: base)
        for (entry, bytes) in [(photoEntry, Self.photo), (nearEntry, stored)] {
            var buffer: [UInt8] = []
            try bytes.withUnsafeBytes { bytes in
                try protection.withPackedBytes(of: entry, stored: bytes, buffer: &buffer) { (packed) throws(BackupError) in
                    try writer.append(entry, packed)
                }
            }
        }
        _ = try writer.finish(packsFolder: repository.layout.packs)
    }
}
