import BackupCore
import Formats
import Foundation
import SystemIO
import TestSupport
import Testing

enum ContentDigest {
    static func sha256(_ bytes: [UInt8]) -> String { SHA256Hasher.hash(bytes).hexadecimal }
}

/// Archives as other programs see them. Each tool stands alone: all of them must agree.
@Suite("ZIP layout: other programs read it", .rotating(oneIn: 3))
struct ZIPLayoutToolTests {
    private let shelf = ChunkShelf()

    private func realisticMembers() throws -> [ArchiveMember] {
        var generator = SeededGenerator(seed: 7)
        let text = shelf.store(sampleText(200_000), .deflate)
        let more = shelf.store(sampleText(90_001), .deflate)
        let noise = shelf.store(generator.noise(300_000), .raw)
        let based = shelf.store(sampleText(131_070), .deflateAgainstBase)
        let empty = shelf.store([], .deflate)
        var members: [ArchiveMember] = [
            try shelf.member("media/", mode: 0o040755),
            try shelf.member("export.json", [.literal(Array("{\"a\":".utf8)), .chunk(text), .literal(Array("}\n".utf8))]),
            try shelf.member("database.sqlite", [.chunk(text), .chunk(noise), .chunk(based), .chunk(more)], mode: 0o100600),
            try shelf.member("media/photo.jpg", [.chunk(noise)], mode: 0o100640, time: 1_000_000_001),
            try shelf.member("media/two photos.raw", [.chunk(noise), .chunk(noise)]),
            try shelf.member("nothing at all", []),
            try shelf.member("nothing of a chunk", [.chunk(empty)]),
            try shelf.member("one raw byte", [.chunk(shelf.store([0x42], .raw))]),
            try shelf.member("one deflated byte", [.chunk(shelf.store([0x42], .deflate))]),
            try shelf.member("tabs\tand 'quotes' & $signs", [.literal([1, 2, 3])]),
            try shelf.member("-leading dash", [.literal([4])]),
            try shelf.member("media/Grüße, 写真 🚗.jpg", [.literal([5])]),
            try shelf.member("media/e\u{301} is not é", [.literal([6])]),
            try shelf.member("before 1980", [.literal([7])], time: -86_400),
            try shelf.member("script.sh", [.literal(Array("#!/bin/sh\n".utf8))], mode: 0o100755),
        ]
        for count in [65_534, 65_535, 65_536, 131_070, 131_071] {
            let raw = shelf.store(generator.noise(count), .raw)
            members.append(try shelf.member("raw \(count)", [.chunk(raw)]))
            members.append(try shelf.member("framed \(count)", [.chunk(raw), .chunk(more)]))
            members.append(try shelf.member("deflated \(count)", [.chunk(shelf.store(sampleText(count), .deflate))]))
        }
        return members
    }

    private func write(_ members: [ArchiveMember], to folder: TemporaryFolder) throws -> String {
        let table = try ZIPLayout.table(for: members)
        #expect(try ZIPLayout.archivedSize(of: members) == table.size)
        return try folder.write(shelf.materialize(table), to: "archive.zip")
    }

    /// Compares a folder with the members by the operating system's own view of it.
    private func expectTree(_ root: String, _ members: [ArchiveMember], folder: TemporaryFolder) throws {
        var lines = ""
        for member in members where !member.isDirectory {
            let plain = try member.content.flatMap { try shelf.plain($0) }
            lines += "\(Hexadecimal.encode(member.path)) \(ContentDigest.sha256(plain))\n"
        }
        let list = try folder.write(Array(lines.utf8), to: "expected")
        try python(
            """
            import hashlib, os, sys
            root = os.fsencode(sys.argv[1])
            expected = dict(line.split() for line in open(sys.argv[2]))
            found = {}
            for folder, _, names in os.walk(root):
                for name in names:
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, root).hex()] = hashlib.sha256(file.read()).hexdigest()
            for key in sorted(set(expected) | set(found)):
                if expected.get(key) != found.get(key):
                    sys.exit(f"{bytes.fromhex(key)}: {expected.get(key)} {found.get(key)}")
            """, root, list)
    }

    @Test("unzip, 7z, bsdtar, Python, jar and zipinfo accept it")
    func toolsAccept() throws {
        let folder = try TemporaryFolder()
        let path = try write(realisticMembers(), to: folder)
        try expectSuccess("unzip", "-tqq", path)
        try expectSuccess("7z", "t", path)
        try expectSuccess("bsdtar", "-tf", path)
        try expectSuccess("zipinfo", path)
        try expectSuccess("python3", "-m", "zipfile", "-t", path)
        if try run(["which", "jar"]).status == 0 { try expectSuccess("jar", "tf", path) }
    }

    @Test("what unzip, 7z, bsdtar and Python extract is what went in", arguments: ["unzip", "7z", "bsdtar", "python"])
    func extraction(tool: String) throws {
        let folder = try TemporaryFolder()
        var members = try realisticMembers()
        // bsdtar composes accents on extraction, whatever the archive says; the others keep them apart.
        if tool == "bsdtar" { members.removeAll { $0.path.starts(with: Array("media/e".utf8)) } }
        let path = try write(members, to: folder)
        let root = try folder.makeFolder("out")
        switch tool {
        case "unzip": try expectSuccess("unzip", "-q", "-^", path, "-d", root)
        case "7z": try expectSuccess("7z", "x", "-o" + root, path)
        case "bsdtar": try expectSuccess("bsdtar", "-xf", path, "-C", root)
        default: try expectSuccess("python3", "-m", "zipfile", "-e", path, root)
        }
        try expectTree(root, members, folder: folder)
    }

    @Test("unzip and bsdtar restore modes and times to the second", arguments: ["unzip", "bsdtar"])
    func attributes(tool: String) throws {
        let folder = try TemporaryFolder()
        let path = try write(realisticMembers(), to: folder)
        let root = try folder.makeFolder("out")
        if tool == "unzip" {
            try expectSuccess("unzip", "-q", path, "-d", root)
        } else {
            try expectSuccess("bsdtar", "-xpf", path, "-C", root)
        }
        let output = try run(["stat", "-c", "%a %Y", root + "/media/photo.jpg", root + "/script.sh", root + "/database.sqlite"])
        #expect(output.output == "640 1000000001\n755 1768141800\n600 1768141800\n")
    }

    @Test("names that are not UTF-8 keep their bytes and have no UTF-8 flag")
    func bytesAsNames() throws {
        let folder = try TemporaryFolder()
        let name: [UInt8] = [0x66, 0xFC, 0xFF, 0x2E, 0x78]
        let members = [try shelf.member(name, [.literal([1])]), try shelf.member("grün", [.literal([2])])]
        let path = try write(members, to: folder)
        let output = try python(
            """
            import sys, zipfile
            for info in zipfile.ZipFile(sys.argv[1]).infolist():
                print(info.flag_bits, info.filename.encode("utf-8" if info.flag_bits & 2048 else "cp437").hex())
            """, path)
        #expect(output == "0 66fcff2e78\n2048 6772c3bc6e\n")
        let root = try folder.makeFolder("out")
        try expectSuccess("bsdtar", "-xf", path, "-C", root)
        let listing = try python("import os, sys; print(sorted(n.hex() for n in os.listdir(os.fsencode(sys.argv[1]))))", root)
        #expect(listing == "['66fcff2e78', '6772c3bc6e']\n")
    }

    @Test("ZIP-09: 70,000 entries need the ZIP64 end records")
    func manyEntries() throws {
        let folder = try TemporaryFolder()
        var members: [ArchiveMember] = []
        for number in 0..<70_000 {
            members.append(try shelf.member("d\(number % 100)/\(number)", [.literal([UInt8(number & 255)])]))
        }
        let path = try write(members, to: folder)
        try expectSuccess("unzip", "-tqq", path)
        try expectSuccess("7z", "t", path)
        let listed = try run(["bsdtar", "-tf", path])
        #expect(listed.status == 0 && listed.output.utf8.count { $0 == 10 } == 70_000)
        let output = try python(
            """
            import sys, zipfile
            archive = zipfile.ZipFile(sys.argv[1])
            print(len(archive.infolist()), archive.read("d99/69999")[0], archive.testzip())
            """, path)
        #expect(output == "70000 111 None\n")
        if try run(["which", "jar"]).status == 0 {
            let listed = try run(["jar", "tf", path])
            #expect(listed.status == 0 && listed.output.utf8.count { $0 == 10 } == 70_000)
        }
    }

    @Test("ZIP-09: 65,534 entries need no ZIP64, 65,535 do", arguments: [65_534, 65_535])
    func entryCountEdge(count: Int) throws {
        let folder = try TemporaryFolder()
        let members = try (0..<count).map { try shelf.member("\($0)") }
        let path = try write(members, to: folder)
        let archive = try Data(contentsOf: URL(fileURLWithPath: path))
        let locator = Array(archive[(archive.count - 42)..<(archive.count - 38)])
        #expect((locator == [0x50, 0x4B, 6, 7]) == (count == 65_535))
        try expectSuccess("unzip", "-tqq", path)
        #expect(try python("import sys, zipfile; print(len(zipfile.ZipFile(sys.argv[1]).infolist()))", path) == "\(count)\n")
    }

    @Test("ZIP-09: an entry beyond 4 GiB and one behind it")
    func hugeEntry() throws {
        let folder = try TemporaryFolder()
        let size: UInt64 = 4_294_967_306
        let huge = ArchiveMember(
            path: Array("zeros".utf8), mode: 0o100644, modificationTime: Timestamp(seconds: 1_768_141_800), size: size,
            crc32: 0x6B87_B1EC, content: [.source(ZeroSource(), offset: 0, length: size)])
        let members = [huge, try shelf.member("behind", [.literal(Array("still here".utf8))])]
        let table = try ZIPLayout.table(for: members)
        #expect(try ZIPLayout.archivedSize(of: members) == table.size)
        let path = try folder.write([], to: "archive.zip")
        let file = try #require(FileHandle(forWritingAtPath: path))
        var offset: UInt64 = 0
        for extent in table.extents {
            // The zeros stay a hole.
            if case .source = extent {
            } else {
                try file.seek(toOffset: offset)
                try file.write(contentsOf: Data(shelf.bytes(of: extent)))
            }
            offset += extent.length
        }
        try file.close()
        let output = try python(
            """
            import sys, zipfile
            archive = zipfile.ZipFile(sys.argv[1])
            for i in archive.infolist(): print(i.filename, i.file_size, i.compress_size, i.header_offset, i.extract_version)
            print(archive.read("behind").decode())
            print(len(archive.open("zeros").read(1000000)))
            """, path)
        #expect(
            output == """
                zeros 4294967306 4294967306 0 45
                behind 10 10 4294967370 45
                still here
                1000000

                """)
        #expect(try run(["unzip", "-p", path, "behind"]).output == "still here")
        #expect(try run(["bsdtar", "-xOf", path, "behind"]).output == "still here")
        #expect(try run(["7z", "x", "-so", path, "behind"]).output == "still here")
        try expectSuccess("zipinfo", "-v", path)
        // No ZIP64 in local headers that do not need it, none in the end record beyond what is too small.
        #expect(
            try python("import sys; f = open(sys.argv[1], 'rb'); print(f.read(46)[26:34].hex())", path) == "05001d007a65726f\n")
    }

    @Test("the same members give the same bytes in every version of this program")
    func stableBytes() throws {
        let bytes = try shelf.materialize(ZIPLayout.table(for: stableMembers()))
        #expect(ContentDigest.sha256(bytes) == "96c9db9ab9a487bf31d10cd03e8a2a186305973213f250e7901cf4f42bfe0c24")
    }

    /// No compressor is asked here: its bytes may differ between versions of zlib, the layout's may not.
    private func stableMembers() throws -> [ArchiveMember] {
        let segment = try #require(Hexadecimal.decode("ca48cdc9c957c8402701000000ffff".utf8))
        let greeting = shelf.store(Array("hello hello hello hello".utf8), .deflate, stored: segment)
        let text = shelf.store(sampleText(66_000), .raw)
        return [
            try shelf.member("folder/", mode: 0o040700), try shelf.member("folder/ä", [.chunk(text), .literal([0])]),
            try shelf.member([0xFF], [.chunk(greeting), .chunk(text)]), try shelf.member("old", [.literal([1])], time: -5),
        ]
    }
}
