import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

@Suite struct RoundTripTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Everything a snapshot can hold, restored by a program that knows only the format document.
    @Test func anIndependentReaderRestoresTheTree() throws {
        let repository = try Repository.create(at: folder("repository"))
        let writer = try repository.makeWriter(packSizeBytes: 1 << 20)
        let photo = TestData.random(3_000_000, seed: 11)
        let rows = TestData.rows(40_000, seed: 12)
        let database = TestData.rows(30_000, seed: 13)
        let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_789)
        let identity = SourceIdentity(inode: 77, changeTime: time)
        let media = try writer.store([
            TreeEntry.file(
                name: "IMG_1.jpg", mode: 0o644, modificationTime: time, stored: try writer.store(photo, policy: .media),
                sourceIdentity: identity),
            .symbolicLink(name: "link", target: Array("IMG_1.jpg".utf8), modificationTime: time),
            .file(
                name: FileName(bytes: [0xff, 0xfe, 10]), mode: 0o600, modificationTime: time,
                stored: try writer.store([1, 2, 3], policy: .media)),
        ])
        let storedRows = try writer.store(rows, policy: .structuredText)
        let head = Array("{\"cars\": ".utf8)
        let tail = Array("}\n".utf8)
        let export = FileContent.concatenating([FileContent(literal: head), storedRows.content, FileContent(literal: tail)])
        let entries: [TreeEntry] = [
            .directory(name: "media", mode: 0o755, modificationTime: time, stored: media),
            .file(
                name: "export.json", mode: 0o600, modificationTime: time, content: export,
                checksums: ContentHasher.hash(head + rows + tail)),
            .file(name: "cars.json", mode: 0o600, modificationTime: time, stored: storedRows),
            .file(
                name: "database.sqlite", mode: 0o600, modificationTime: time,
                stored: try writer.store(database, policy: .database(pageSizeBytes: 4096))),
            .file(name: "empty", mode: 0o600, modificationTime: time, stored: try writer.store([], policy: .media)),
        ]
        let snapshot = try writer.commit(named: "first", entries: entries)

        let out = folder("out")
        #expect(try run(["python3", Fixtures.reader, "restore", folder("repository"), "first", out]).status == 0)
        #expect(try readFile(out + "/media/IMG_1.jpg") == photo)
        #expect(try readFile(out + "/export.json") == head + rows + tail)
        #expect(try readFile(out + "/cars.json") == rows)
        #expect(try readFile(out + "/database.sqlite") == database)
        #expect(try readFile(out + "/empty").isEmpty)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: out + "/media/link") == "IMG_1.jpg")

        // And by the program itself, opened again.
        let opened = try Repository.open(at: folder("repository"))
        #expect(opened.snapshots() == [snapshot])
        #expect(try opened.file("export.json", in: "first") == head + rows + tail)
        #expect(try opened.file("database.sqlite", in: "first") == database)
        let root = try opened.rootDirectory(of: snapshot)
        let mediaFolder = try opened.directory(of: try #require(root.entry(named: "media")))
        let image = try #require(mediaFolder.entry(named: "IMG_1.jpg"))
        #expect(image.modificationTime == time && image.mode == 0o100644 && image.sourceIdentity == identity)
        #expect(image.size == 3_000_000)
        #expect(mediaFolder.entry(named: "link")?.linkTarget == Array("IMG_1.jpg".utf8))
        #expect(mediaFolder.entry(named: "IMG_2.jpg") == nil)
        #expect(root.totals.fileCount == 6 && root.totals.directoryCount == 1 && root.totals.symbolicLinkCount == 1)
        let storedBytes = UInt64(3_000_000 + 3 + rows.count * 2 + head.count + tail.count + database.count)
        #expect(root.totals.byteCount == storedBytes)
        for pack in try opened.packs() { #expect(opened.verifyPack(pack).isEmpty) }
    }

    /// Any range of a file, plain and as stored, equals the same range of the whole.
    @Test func rangesAreThoseOfTheWhole() throws {
        let repository = try Repository.create(at: folder("repository"))
        let raw = TestData.random(900_000, seed: 21)
        let text = TestData.rows(9_000, seed: 22)
        try repository.makeWriter().commit(named: "a", files: [("raw", raw, .media), ("text", text, .structuredText)])
        for (name, expected): (FileName, [UInt8]) in [("raw", raw), ("text", text)] {
            // A new instance each time: what is checked on first touch must not depend on what was read before.
            let opened = try Repository.open(at: folder("repository"))
            let snapshot = try #require(opened.snapshot(named: "a"))
            let entry = try #require(try opened.rootDirectory(of: snapshot).entry(named: name))
            let table = try opened.extents(of: entry.content)
            var generator = TestData(seed: 5)
            for _ in 0..<200 {
                let start = Int(generator.next() % UInt64(expected.count + 10))
                let count = Int(generator.next() % 200_000)
                var buffer = [UInt8](repeating: 0xee, count: count)
                let read = try buffer.withUnsafeMutableBytes { try opened.read(table, at: UInt64(start), into: $0) }
                let wanted = expected[min(start, expected.count)..<min(start + count, expected.count)]
                #expect(read == wanted.count)
                #expect(buffer[..<read].elementsEqual(wanted))
            }
        }
    }

    /// The stored bytes of compressed chunks, one after the other and ended by 03 00, are one DEFLATE stream.
    @Test func storedBytesMakeOneDeflateStream() throws {
        let repository = try Repository.create(at: folder("repository"))
        let text = TestData.rows(9_000, seed: 23)
        try repository.makeWriter().commit(named: "a", files: [("text", text, .structuredText)])
        let snapshot = try #require(repository.snapshot(named: "a"))
        let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: "text"))
        var table = ExtentTable()
        for case .chunk(let chunk) in try repository.pieces(of: entry.content) {
            #expect(chunk.codec == .deflate)
            table.append(Extent.stored(chunk))
        }
        table.append(Extent.literal([3, 0]))
        var stream = [UInt8](repeating: 0, count: Int(table.size))
        #expect(try stream.withUnsafeMutableBytes { try repository.read(table, at: 0, into: $0) } == stream.count)
        try writeFile(folder("stream"), stream)
        let script =
            "import zlib,sys;d=zlib.decompressobj(-15);sys.stdout.buffer.write(d.decompress(open(sys.argv[1],'rb').read()));assert d.eof"
        let result = try run(["python3", "-c", script, folder("stream")])
        #expect(result.status == 0 && result.bytes == text)
    }

    @Test func manyThreadsReadTheSame() throws {
        let repository = try Repository.create(at: folder("repository"))
        let raw = TestData.random(2_000_000, seed: 31)
        let text = TestData.rows(30_000, seed: 32)
        try repository.makeWriter(packSizeBytes: 100_000).commit(
            named: "a", files: [("raw", raw, .media), ("text", text, .structuredText)])
        let opened = try Repository.open(at: folder("repository"))
        DispatchQueue.concurrentPerform(iterations: 16) { index in
            let result = try? opened.file(index.isMultiple(of: 2) ? "raw" : "text", in: "a")
            #expect(result == (index.isMultiple(of: 2) ? raw : text))
        }
    }

    @Test func theCatalogAndThePacksAgreeWithAnIndependentReader() throws {
        let repository = try Repository.create(at: folder("repository"))
        let text = TestData.rows(20_000, seed: 41)
        try repository.makeWriter(packSizeBytes: 50_000).commit(
            named: "a", files: [("text", text, .structuredText), ("raw", TestData.random(300_000, seed: 42), .media)])
        let result = try run(["python3", Fixtures.reader, "packs", folder("repository")])
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        let totals = try repository.totals()
        #expect(UInt64(lines.count) == totals.chunkCount)
        #expect(totals.packCount > 3)
        for line in lines {
            let words = line.split(separator: " ")
            let id = try #require(ChunkID(hexadecimal: words[0]))
            let chunk = try #require(try repository.catalog.locate([id]).first)
            #expect("\(chunk.codec.rawValue)" == words[1] && "\(chunk.plainLength)" == words[2])
            try repository.verifyChunk(id)
        }
        let du = try run(
            ["sh", "-c", "find packs -name '*.pack' -printf '%s\\n' | awk '{s+=$1} END {printf \"%d\", s}'"],
            in: folder("repository"))
        #expect(du.output == "\(totals.packByteCount)")
    }

    /// A content with thousands of chunks goes through lists of lists, also when it was composed.
    @Test func longContentsGoToLists() throws {
        let repository = try Repository.create(at: folder("repository"))
        let writer = try repository.makeWriter()
        let database = TestData.random(8_000_000, seed: 51)
        let stored = try writer.store(database, policy: .database(pageSizeBytes: 512))
        #expect(stored.content.elements.count <= 16 && stored.content.size == 8_000_000)
        #expect(stored.content.elements.contains { if case .list = $0 { true } else { false } })
        let parts = (0..<40).map { index in
            FileContent.concatenating([FileContent(literal: Array("\(index):".utf8)), stored.content])
        }
        let composed = FileContent.concatenating(parts)
        let hash = ContentHasher.hash([])
        let file = TreeEntry.file(
            name: "composed", mode: 0o600, modificationTime: Timestamp(seconds: 1), content: composed, checksums: hash)
        let snapshot = try writer.commit(named: "a", entries: [file])
        let entry = try #require(try repository.rootDirectory(of: snapshot).entry(named: "composed"))
        #expect(entry.content.elements.count <= 16 && entry.size == composed.size)
        let table = try repository.extents(of: entry.content)
        // 16 KiB pieces of 512-byte pages, 489 of them, and a literal in front of each repetition.
        #expect(table.size == composed.size && table.extents.count == 40 * 490)
        // Somewhere in the twentieth repetition.
        let part = UInt64(database.count)
        let offset = UInt64(10 * 2 + 10 * 3) + part * 20 + 1_234_567
        var buffer = [UInt8](repeating: 0, count: 100_000)
        #expect(try buffer.withUnsafeMutableBytes { try repository.read(table, at: offset, into: $0) } == 100_000)
        let start = 1_234_567 - 3
        #expect(buffer.elementsEqual(database[start..<start + 100_000]))
    }
}
