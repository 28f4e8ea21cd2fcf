import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Damage on the disk is found, named and contained.
@Suite struct DamageTests {
    private let folder: TemporaryFolder
    private static let photo = TestData.random(400_000, seed: 1)
    private static let rows = TestData.rows(3_000, seed: 2)
    private static let other = TestData.random(50_000, seed: 3)

    init() throws {
        folder = try TemporaryFolder()
        let repository = try Repository.create(at: folder("repository"))
        // Three files, each in a pack of its own.
        try repository.makeWriter(packSizeBytes: 1000).commit(
            named: "a",
            files: [("photo", Self.photo, .media), ("rows", Self.rows, .structuredText), ("other", Self.other, .media)])
    }

    private func open() throws -> Repository { try Repository.open(at: folder("repository")) }

    private func expectWhole(_ repository: Repository) throws {
        #expect(try repository.file("photo", in: "a") == Self.photo)
        #expect(try repository.file("rows", in: "a") == Self.rows)
        #expect(try repository.file("other", in: "a") == Self.other)
    }

    private func firstChunk(_ name: FileName) throws -> StoredChunk {
        let repository = try open()
        let snapshot = try #require(repository.snapshot(named: "a"))
        let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: name))
        for case .chunk(let chunk) in try repository.pieces(of: entry.content) { return chunk }
        throw BackupError(.notFound, "no chunk")
    }

    @Test(arguments: [FileName("photo"), FileName("rows")]) func aFlippedBitIsAnErrorOfThatFileOnly(name: FileName) throws {
        let chunk = try firstChunk(name)
        let repository = try open()
        let path = repository.layout.packPath(of: chunk.pack)
        try Damage.flip(path, at: Int(chunk.packOffset) + Int(chunk.storedLength) / 2)
        do {
            _ = try repository.file(name, in: "a")
            Issue.record("a damaged file was read")
        } catch let error as BackupError {
            #expect(error.code == .repositoryDamaged)
            #expect(error.message.contains(chunk.id.hexadecimal))
            #expect(error.path == path && error.remedy != nil)
        }
        #expect(try repository.file("other", in: "a") == Self.other)
        #expect(errorCode { try repository.verifyChunk(chunk.id) } == .repositoryDamaged)
        let findings = try repository.packs().flatMap { repository.verifyPack($0) }
        #expect(findings.count == 1 && findings[0].path == path)
        // A stored extent is checked as well, even if only its first byte is asked for.
        var table = ExtentTable()
        table.append(Extent.stored(chunk))
        var byte: UInt8 = 0
        #expect(
            errorCode { _ = try withUnsafeMutableBytes(of: &byte) { try repository.read(table, at: 0, into: $0) } }
                == .repositoryDamaged)
        // The bit flips back: nothing was remembered that is no longer true.
        try Damage.flip(path, at: Int(chunk.packOffset) + Int(chunk.storedLength) / 2)
        try expectWhole(repository)
    }

    /// Every byte of a pack is checked by some reader.
    @Test func everyFlippedByteOfAPackIsFound() throws {
        let repository = try Repository.create(at: folder("small"))
        try repository.makeWriter().commit(
            named: "a", files: [("x", TestData.random(100, seed: 1), .media), ("y", TestData.rows(3, seed: 2), .structuredText)])
        for pack in try repository.packs() {
            let path = repository.layout.packPath(of: pack)
            let bytes = try readFile(path)
            #expect(repository.verifyPack(pack).isEmpty)
            for index in bytes.indices {
                var damaged = bytes
                damaged[index] ^= 0x20
                try writeFile(path, damaged)
                // A new instance, which has no open file and no cache.
                #expect(!(try Repository.open(at: folder("small")).verifyPack(pack)).isEmpty)
                try writeFile(path, Array(bytes[..<index]))
                #expect(throws: BackupError.self) {
                    try PackIndex.read(try SharedFile(path: path), pack: pack, protection: .none)
                }
            }
            try writeFile(path, bytes)
        }
    }

    @Test func theCatalogIsRebuilt() throws {
        let repository = try open()
        let totals = try repository.totals()
        let path = repository.catalog.path
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        #expect(try open().totals() == totals)
        try expectWhole(open())
        // Not a database at all.
        try writeFile(path, TestData.random(50_000, seed: 9))
        try expectWhole(open())
        // Cut off, damaged all over, empty.
        var bytes = try readFile(path)
        #expect(bytes.starts(with: Array("SQLite format 3".utf8)))
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try writeFile(path, Array(bytes[..<(bytes.count / 2)]))
        try expectWhole(open())
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        for index in stride(from: 100, to: bytes.count, by: 7) { bytes[index] ^= 0x55 }
        try writeFile(path, bytes)
        try expectWhole(open())
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try writeFile(path, [])
        try expectWhole(open())
        #expect(try open().totals() == totals)
    }

    @Test(arguments: [
        "UPDATE chunks SET \"offset\" = \"offset\" + 1", "UPDATE chunks SET plain_crc32 = 0, stored_crc32 = 0",
        "DELETE FROM chunks", "DELETE FROM packs", "PRAGMA user_version = 99", "UPDATE repository SET id = 'other'",
        "DROP TABLE packs",
        "UPDATE chunks SET codec = 9", "UPDATE chunks SET \"offset\" = -1", "UPDATE packs SET id0 = 1",
    ])
    func aCatalogThatLiesDoesNoHarm(sql: String) throws {
        #expect(try run(["sqlite3", folder("repository/catalog.sqlite"), sql]).status == 0)
        try expectWhole(open())
    }

    /// A catalog that is damaged while it is in use.
    @Test func aCatalogThatVanishesMeanwhileDoesNoHarm() throws {
        let repository = try open()
        #expect(try run(["sqlite3", folder("repository/catalog.sqlite"), "DROP TABLE chunks"]).status == 0)
        try expectWhole(repository)
        // Another process has replaced it: both go on.
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: repository.catalog.path + suffix) }
        let other = try open()
        try other.makeWriter().commit(named: "b", files: [("x", TestData.random(100, seed: 7), .media)])
        try repository.refresh()
        #expect(try repository.file("x", in: "b") == TestData.random(100, seed: 7))
        try expectWhole(repository)
        try expectWhole(other)
    }

    @Test func aMissingPackHurtsItsFilesOnly() throws {
        let chunk = try firstChunk("photo")
        let repository = try open()
        try FileManager.default.removeItem(atPath: repository.layout.packPath(of: chunk.pack))
        #expect(errorCode { _ = try repository.file("photo", in: "a") } == .repositoryDamaged)
        try expectWhole2(repository)
        let opened = try open()
        #expect(errorCode { _ = try opened.file("photo", in: "a") } == .repositoryDamaged)
        try expectWhole2(opened)
        // The next backup stores what is missing, and the old snapshot is whole again.
        try opened.makeWriter().commit(named: "b", files: [("photo", Self.photo, .media)])
        try expectWhole(opened)
        try expectWhole(open())
    }

    private func expectWhole2(_ repository: Repository) throws {
        #expect(try repository.file("rows", in: "a") == Self.rows)
        #expect(try repository.file("other", in: "a") == Self.other)
    }

    /// A pack whose end is gone: what is left of it is still read, but no new backup relies on it.
    @Test func aPackThatIsCutOffIsNotReliedOn() throws {
        let chunk = try firstChunk("photo")
        let repository = try open()
        let path = repository.layout.packPath(of: chunk.pack)
        let bytes = try readFile(path)
        try writeFile(path, Array(bytes[..<(bytes.count - 10)]))
        let opened = try open()
        #expect(opened.damages().count == 1 && opened.damages()[0].path == path)
        try expectWhole(opened)
        let writer = try opened.makeWriter()
        try writer.commit(named: "b", files: [("photo", Self.photo, .media)])
        #expect(writer.storedByteCount > 300_000)
        #expect(try open().file("photo", in: "b") == Self.photo)
    }

    /// A pack is rewritten while a file is open: the same bytes lie in another place now.
    @Test func filesStayReadableWhenTheirPackMoves() throws {
        let repository = try open()
        let chunk = try firstChunk("photo")
        var table = ExtentTable()
        table.append(ContentPiece.chunk(chunk))
        table.append(Extent.stored(chunk))
        // A pack with the same chunk in another place.
        let old = try SharedFile(path: repository.layout.packPath(of: chunk.pack))
        let writer = try PackWriter(kind: .data, temporaryFolder: repository.layout.temporary, protection: .none)
        let encoder = ChunkEncoder()
        for bytes in [TestData.random(777, seed: 5), try old.readExactly(at: chunk.packOffset, count: Int(chunk.storedLength))] {
            try bytes.withUnsafeBytes { plain in
                try encoder.encode(ChunkID(SHA256Hasher.hash(bytes)), plain, .whenClear) { (entry, stored) throws(BackupError) in
                    try writer.append(entry, stored)
                }
            }
        }
        _ = try writer.finish(packsFolder: repository.layout.packs)
        try FileManager.default.removeItem(atPath: repository.layout.packPath(of: chunk.pack))
        var buffer = [UInt8](repeating: 0, count: Int(table.size))
        #expect(try buffer.withUnsafeMutableBytes { try repository.read(table, at: 0, into: $0) } == buffer.count)
        #expect(buffer[..<Int(chunk.plainLength)].elementsEqual(Self.photo[..<Int(chunk.plainLength)]))
        #expect(buffer[Int(chunk.plainLength)...].elementsEqual(Self.photo[..<Int(chunk.plainLength)]))
    }

    @Test func aDamagedRecordHidesNoOther() throws {
        let repository = try open()
        let second = try repository.makeWriter().commit(named: "b", files: [("x", [1], .media)])
        let path = repository.layout.snapshotPath(of: second.id)
        let bytes = try readFile(path)
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 4
            try writeFile(path, damaged)
            let store = try SnapshotStore(layout: repository.layout, protection: .none)
            #expect(store.list.snapshots.map(\.name) == ["a"])
            #expect(store.list.damages.count == 1 && store.list.damages[0].path == path)
        }
        for count in bytes.indices {
            try writeFile(path, Array(bytes[..<count]))
            #expect(try SnapshotStore(layout: repository.layout, protection: .none).list.snapshots.map(\.name) == ["a"])
        }
        let opened = try open()
        #expect(opened.damages().count == 1)
        try expectWhole(opened)
    }

    /// A damaged label may have been a pin: retention must leave the snapshot alone.
    @Test func aDamagedLabelPins() throws {
        let repository = try open()
        let snapshot = try #require(repository.snapshot(named: "a"))
        try repository.renameSnapshot(snapshot.id, to: "b")
        let path = repository.layout.labelPath(of: snapshot.id)
        // One flipped bit could be turned back.
        for offset in [50, 51] { try Damage.flip(path, at: offset) }
        let opened = try open()
        #expect(opened.snapshot(named: "a")?.isPinned == true)
        #expect(opened.damages().map(\.path) == [path])
        try opened.renameSnapshot(snapshot.id, to: "c")
        #expect(try open().snapshot(named: "c")?.isPinned == true)
        #expect(try open().damages().isEmpty)
    }

    /// Directory objects that lie about what is below them.
    @Test func totalsThatDifferAreDamage() throws {
        let repository = try open()
        let writer = try repository.makeWriter()
        let empty = try writer.store([TreeEntry]())
        let full = try writer.store([TreeEntry.symbolicLink(name: "x", target: [1], modificationTime: Timestamp(seconds: 1))])
        let lie = StoredDirectory(content: empty.content, totals: full.totals)
        let snapshot = try writer.commit(
            named: "b", entries: [.directory(name: "d", mode: 0o700, modificationTime: Timestamp(seconds: 1), stored: lie)])
        let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: "d"))
        #expect(errorCode { _ = try repository.directory(of: entry) } == .repositoryDamaged)
    }
}

/// A catalog that another program has written has values of any type in it.
@Suite struct ForeignCatalogTests {
    @Test(
        "R-A16: values of other types in a catalog are damage, and do not end the process",
        arguments: [
            "UPDATE repository SET id = x'00'", "UPDATE repository SET id = 7", "UPDATE repository SET generation = 'x'",
            "UPDATE packs SET size = 'x'", "UPDATE packs SET id1 = x'00'", "UPDATE packs SET id2 = 1.5",
            "UPDATE packs SET chunk_count = 1e300", "UPDATE packs SET size = 9223372036854775807",
            "UPDATE packs SET chunk_count = 9223372036854775806", "UPDATE packs SET kind = 'x'", "UPDATE chunks SET codec = 'x'",
            "UPDATE chunks SET base0 = 'x'",
        ])
    func valuesOfOtherTypesAreDamage(sql: String) throws {
        let folder = try TemporaryFolder(inMemory: true)
        let path = folder("repository")
        let photo = TestData.random(100_000, seed: 1)
        do {
            let repository = try Repository.create(at: path)
            try repository.makeWriter().commit(
                named: "a", files: [("photo", photo, .media), ("other", TestData.rows(300, seed: 2), .structuredText)])
        }
        #expect(try run(["sqlite3", path + "/catalog.sqlite", sql]).status == 0)
        let opened = try Repository.open(at: path)
        #expect(try opened.file("photo", in: "a") == photo)
        #expect(try opened.totals().chunkCount > 1 && opened.totals().packCount == 2)
        var check = RepositoryCheck(opened, readData: .all) { _ in }
        _ = try check.run()
        #expect(try opened.file("photo", in: "a") == photo)
    }
}
