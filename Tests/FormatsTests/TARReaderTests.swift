import BackupCore
import Formats
import SystemIO
import TestSupport
import Testing

/// Archives that other programs make, and those of our own layout.
@Suite("tar reader: archives of other programs")
struct TARReaderTests {
    private static let long = String(repeating: "long", count: 40)

    private func open(_ bytes: [UInt8]) throws -> ArchiveReader {
        var limits = ArchiveLimits(totalSizeBytes: 1 << 30)
        limits.acceptsSymbolicLinks = true
        limits.acceptsUnixBackslashes = true
        return try ArchiveReader(tar: MemorySource(bytes), size: UInt64(bytes.count), limits: limits)
    }

    @Test(arguments: [
        "tar -cf out.tar tree", "tar --format=gnu -cf out.tar tree", "tar --format=pax -cf out.tar tree",
        "tar -C tree -cf out.tar .",
        "tar --format=ustar --exclude='long*' -cf out.tar tree", "tar --format=pax --pax-option=comment=hello -cf out.tar tree",
        "tar -b 128 -cf out.tar tree", "bsdtar -cf out.tar tree", "bsdtar --format=pax -cf out.tar tree",
        "python3 -c \"import tarfile; t = tarfile.open('out.tar', 'w'); t.add('tree'); t.close()\"",
        "python3 -c \"import tarfile; t = tarfile.open('out.tar', 'w', format=tarfile.GNU_FORMAT); t.add('tree'); t.close()\"",
    ])
    func `reads what other programs write`(command: String) throws {
        let folder = try TemporaryFolder()
        let files: [(name: String, text: String)] =
            [
                ("export.json", "{}"), ("media/a.jpg", String(repeating: "x", count: 70_000)), ("media/empty", ""),
                ("media/Grüße \\ 写真.jpg", "ü"),
            ] + (command.contains("ustar") ? [] : [("media/\(Self.long)/\(Self.long).jpg", "deep")])
        let make = "cd '\(folder.path)'; mkdir -p 'tree/media/\(Self.long)'"
        try expectSuccess("sh", "-c", make)
        for file in files { try folder.write(file.text, to: "tree/\(file.name)") }
        try expectSuccess(
            "sh", "-c",
            """
            cd '\(folder.path)/tree'; ln -s a.jpg media/link; chmod 640 export.json; find . -exec touch -h -d '2024-07-01 12:34:56.75' {} +
            cd ..; \(command)
            """)
        let reader = try open(folder.read("out.tar"))
        let entries = reader.entries(strippingCommonFolder: true)
        for (name, text) in files {
            let entry = try #require(entries.first { $0.path.elementsEqual(name.utf8) }, "\(name)")
            #expect(try reader.content(of: entry) == Array(text.utf8))
            #expect(entry.size == UInt64(text.utf8.count))
            #expect(entry.modificationTime.seconds == 1_719_837_296)
            #expect(entry.crc32 == nil)
        }
        let export = try #require(entries.first { $0.name == "export.json" })
        #expect(export.permissions == 0o640)
        let link = try #require(entries.first { $0.name == "media/link" })
        #expect(link.isSymbolicLink)
        #expect(try reader.content(of: link) == Array("a.jpg".utf8))
        #expect(entries.contains { $0.name == "media/" && $0.isDirectory })
        #expect(entries.count == files.count + 2 + (command.contains("ustar") ? 0 : 1))
    }

    @Test func `times are exact to the nanosecond where the file has them so, also before 1970`() throws {
        let folder = try TemporaryFolder()
        try expectSuccess(
            "sh", "-c",
            """
            cd '\(folder.path)'; echo 1 > a; echo 2 > b; touch -d '2024-07-01 12:34:56.123456789 UTC' a; touch -d '1969-12-31 23:59:58.5 UTC' b
            tar --format=pax -cf out.tar a b
            """)
        let entries = try open(folder.read("out.tar")).entries()
        #expect(entries[0].modificationTime == Timestamp(seconds: 1_719_837_296, nanoseconds: 123_456_789))
        #expect(entries[1].modificationTime == Timestamp(seconds: -2, nanoseconds: 500_000_000))
    }

    @Test func `a member beyond 8 GiB is found, and what follows it`() throws {
        let folder = try TemporaryFolder()
        // Python writes the size in binary, or in an extended header.
        for format in ["GNU_FORMAT", "PAX_FORMAT"] {
            try python(
                """
                import tarfile, sys
                out = open(sys.argv[1], "wb")
                def add(name, size):
                    i = tarfile.TarInfo(name); i.size = size
                    out.write(i.tobuf(tarfile.\(format))); out.seek(size + -size % 512, 1)
                add("large", 9 << 30); add("small", 0); out.write(bytes(1024)); out.close()
                """, folder("large.tar"))
            let file = try SharedFile(path: folder("large.tar"))
            let reader = try ArchiveReader(tar: file, size: file.size, limits: ArchiveLimits(totalSizeBytes: 1 << 40))
            #expect(reader.entries().map(\.name) == ["large", "small"])
            #expect(reader.entries()[0].size == 9 << 30)
        }
    }
}
