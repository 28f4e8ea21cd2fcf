import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

@Suite("ZIP reader: archives of other programs")
struct ZIPReaderTests {
    private let limits = ArchiveLimits(totalSizeBytes: 1 << 30)

    /// A small tree, the program's archive of it, and what the reader finds in it.
    @Test(
        "reads what other programs write",
        arguments: [
            "zip -q -r out.zip export.json media empty", "zip -q -0 -r out.zip export.json media empty",
            "zip -q -r - export.json media empty | cat > out.zip",
            "zip -q -fz -r out.zip export.json media empty", "bsdtar --format zip -cf out.zip export.json media empty",
            "7z a out.zip export.json media empty",
            "jar cMf out.zip export.json media empty", "python3 -m zipfile -c out.zip export.json media empty",
            """
            python3 -c "
            import sys, zipfile
            class Pipe:
                def write(self, data): return sys.stdout.buffer.write(data)
                def flush(self): pass
            with zipfile.ZipFile(Pipe(), 'w', zipfile.ZIP_DEFLATED) as z:
                z.write('export.json'); z.write('media/a.jpg')
                i = zipfile.ZipInfo('large'); i.compress_type = zipfile.ZIP_DEFLATED
                with z.open(i, 'w', force_zip64=True) as f: f.write(b'x' * 1000)
            " > out.zip
            """,
            """
            python3 -c "
            import zipfile
            with zipfile.ZipFile('out.zip', 'w', zipfile.ZIP_DEFLATED) as z:
                z.comment = b'made by a test'
                z.write('export.json')
                z.writestr('media/', '')
                with z.open('media/a.jpg', 'w', force_zip64=True) as f: f.write(open('media/a.jpg', 'rb').read())
            "
            """,
        ])
    func otherPrograms(command: String) throws {
        // A JDK is large, and not installed for this alone.
        if command.hasPrefix("jar"), try run(["which", "jar"]).status != 0 { return }
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 3)
        let text = sampleText(100_000)
        let noise = generator.noise(70_000)
        try folder.write(text, to: "export.json")
        _ = try folder.makeFolder("media")
        try folder.write(noise, to: "media/a.jpg")
        try folder.write([], to: "empty")
        try expectSuccess("sh", "-c", "cd '\(folder.path)' && \(command)")
        let reader = try ArchiveReader(zipFile: folder("out.zip"), limits: limits)
        #expect(reader.warnings.isEmpty)
        let export = try #require(reader.entry("export.json"))
        #expect(export.size == 100_000)
        #expect(try reader.content(of: export) == text)
        let photo = try #require(reader.entry("media/a.jpg"))
        #expect(try reader.content(of: photo) == noise)
        for entry in reader.entries() { try reader.extract(entry) { _ in } }
        if let empty = reader.entry("empty") { #expect(try reader.content(of: empty) == []) }
        #expect(reader.entry("media/a") == nil)
    }

    @Test("reads what the layout writes, with modes and times")
    func roundTrip() throws {
        let shelf = ChunkShelf()
        var generator = SeededGenerator(seed: 5)
        let noise = shelf.store(generator.noise(70_000), .raw)
        let text = shelf.store(sampleText(70_000), .deflate)
        let members = [
            try shelf.member("media/", mode: 0o040755, time: 1_500_000_001),
            try shelf.member("media/写真", [.chunk(noise)], mode: 0o100600, time: 1_500_000_003),
            try shelf.member("mixed", [.chunk(text), .chunk(noise), .literal([1])]), try shelf.member("empty"),
            try shelf.member([0xFF, 0x0A], [.literal([2])]),
        ]
        let bytes = try shelf.materialize(ZIPLayout.table(for: members))
        let reader = try ArchiveReader(zip: MemorySource(bytes), size: UInt64(bytes.count), limits: limits)
        #expect(reader.entries().map(\.path) == members.map(\.path))
        for (entry, member) in zip(reader.entries(), members) {
            #expect(entry.permissions == member.mode & 0o7777)
            #expect(entry.modificationTime == member.modificationTime)
            #expect(entry.isDirectory == member.isDirectory)
            #expect(try reader.content(of: entry) == member.content.flatMap { try shelf.plain($0) })
        }
    }

    @Test("70,000 entries and one beyond 4 GiB")
    func large() throws {
        let shelf = ChunkShelf()
        let size: UInt64 = 5 << 30
        let huge = ArchiveMember(
            path: Array("zeros".utf8), mode: 0o100644, modificationTime: Timestamp(seconds: 0), size: size, crc32: 0,
            content: [.source(ZeroSource(), offset: 0, length: size)])
        let members = [huge] + (try (0..<70_000).map { try shelf.member("\($0)", [.literal([UInt8($0 & 255)])]) })
        let table = try ZIPLayout.table(for: members)
        let reader = try ArchiveReader(
            zip: TableSource(table, shelf), size: table.size, limits: ArchiveLimits(totalSizeBytes: 1 << 40))
        #expect(reader.entries().count == 70_001)
        #expect(reader.entries()[0].size == size)
        #expect(try reader.content(of: try #require(reader.entry("69999"))) == [111])
        let error = #expect(throws: BackupError.self) {
            try ArchiveReader(zip: TableSource(table, shelf), size: table.size, limits: ArchiveLimits(totalSizeBytes: 5 << 30))
        }
        #expect(error?.code == .tooLarge)
    }

    @Test("a common leading folder is left out on request")
    func commonFolder() throws {
        let folder = try TemporaryFolder()
        let directory = "attr=0o40755 << 16"
        let path = try ZIPCraft.make(
            "write(archive(E(b'Backup/', b'', \(directory)), E(b'Backup/photos/1.jpg'), E(b'Backup/metadata.json')))", in: folder)
        let reader = try ArchiveReader(zipFile: path, limits: limits)
        #expect(reader.commonLeadingFolder == Array("Backup/".utf8))
        #expect(reader.entries().map(\.name) == ["Backup/", "Backup/photos/1.jpg", "Backup/metadata.json"])
        #expect(reader.entries(strippingCommonFolder: true).map(\.name) == ["photos/1.jpg", "metadata.json"])

        let late = try ZIPCraft.make("write(archive(E(b'b/1'), E(b'b/', b'', \(directory)), E(b'b/2')))", in: folder)
        #expect(try ArchiveReader(zipFile: late, limits: limits).entries(strippingCommonFolder: true).map(\.name) == ["1", "2"])

        for program in [
            "write(archive(E(b'a/1'), E(b'b/2')))", "write(archive(E(b'a/1'), E(b'ab')))",
            "write(archive(E(b'a/', b'', \(directory))))", "write(archive())", "write(archive(E(b'a')))",
        ] {
            let reader = try ArchiveReader(zipFile: ZIPCraft.make(program, in: folder), limits: limits)
            #expect(reader.commonLeadingFolder == nil)
            #expect(reader.entries(strippingCommonFolder: true).map(\.path) == reader.entries().map(\.path))
        }
    }

    @Test("names that collide elsewhere are a warning")
    func collidingNames() throws {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make(
            "write(archive(E(b'A.jpg'), E(b'a.JPG'), E('é'.encode()), E('e\\u0301'.encode()), E(b'b')))", in: folder)
        let reader = try ArchiveReader(zipFile: path, limits: limits)
        #expect(
            reader.warnings == [
                "The name \"a.JPG\" differs from another one only in case or in how accents are written.",
                "The name \"e\u{301}\" differs from another one only in case or in how accents are written.",
            ])
        #expect(reader.entries().count == 5)
    }

    @Test("limits are the caller's")
    func limitsOfTheCaller() throws {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make("write(archive(E(b'a'), E(b'b')))", in: folder)
        #expect(try ArchiveReader(zipFile: path, limits: ArchiveLimits(totalSizeBytes: 14)).entries().count == 2)
        #expect(throws: BackupError.self) { try ArchiveReader(zipFile: path, limits: ArchiveLimits(totalSizeBytes: 13)) }
        var few = limits
        few.entryCount = 1
        #expect(throws: BackupError.self) { try ArchiveReader(zipFile: path, limits: few) }
        let reader = try ArchiveReader(zipFile: path, limits: limits)
        let error = #expect(throws: BackupError.self) { try reader.content(of: reader.entries()[0], limitBytes: 6) }
        #expect(error?.code == .tooLarge)
        let missing = #expect(throws: BackupError.self) { try ArchiveReader(zipFile: path + "-", limits: limits) }
        #expect(missing?.code == .notFound)
    }

    @Test("an error of the sink ends the extraction")
    func sinkError() throws {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make("write(archive(E(b'a', method=8), E(b'b')))", in: folder)
        let reader = try ArchiveReader(zipFile: path, limits: limits)
        for entry in reader.entries() {
            let error = #expect(throws: BackupError.self) {
                try reader.extract(entry) { (_) throws(BackupError) in throw BackupError(.noSpace, "full") }
            }
            #expect(error?.code == .noSpace)
        }
    }
}

/// A layout's bytes as a source: an archive that is larger than memory.
private final class TableSource: ByteSource {
    private let table: ExtentTable
    /// Only reads from it, and from one thread.
    private nonisolated(unsafe) let shelf: ChunkShelf

    init(_ table: ExtentTable, _ shelf: ChunkShelf) {
        self.table = table
        self.shelf = shelf
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
        var count = 0
        for slice in table.slices(in: offset..<offset + UInt64(buffer.count)) {
            let length = Int(slice.range.upperBound - slice.range.lowerBound)
            let target = UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + length])
            if case .literal(let bytes) = slice.extent {
                target.copyBytes(from: bytes[Int(slice.range.lowerBound)..<Int(slice.range.upperBound)])
            } else {
                target.initializeMemory(as: UInt8.self, repeating: 0)
            }
            count += length
        }
        return count
    }
}
