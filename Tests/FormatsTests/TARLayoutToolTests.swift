import BackupCore
import Formats
import Foundation
import TestSupport
import Testing

/// Archives as other programs see them. Each tool stands alone: all of them must agree.
@Suite("tar layout: other programs read it")
struct TARLayoutToolTests {
    private let shelf = ChunkShelf()

    private func member(
        _ path: [UInt8], _ content: [ContentPiece] = [], mode: UInt32 = 0o100644, _ seconds: Int64 = 1_768_141_800,
        _ nanoseconds: UInt32 = 0
    ) throws -> ArchiveMember {
        let size = content.reduce(0) { $0 + $1.length }
        return ArchiveMember(
            path: path, mode: mode, modificationTime: Timestamp(seconds: seconds, nanoseconds: nanoseconds), size: size, crc32: 0,
            content: content)
    }

    private func hostileMembers() throws -> [ArchiveMember] {
        var generator = SeededGenerator(seed: 7)
        let text = shelf.store(sampleText(200_000), .deflate)
        let noise = shelf.store(generator.noise(300_001), .raw)
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        let n = { (count: Int) in String(repeating: "n", count: count) }
        let deep = n(120) + "/" + n(120)
        var members = [
            try member(bytes("export.json"), [.literal(bytes("{\"a\":")), .chunk(text), .literal(bytes("}\n"))]),
            try member(bytes("database.sqlite"), [.chunk(text), .chunk(noise)], mode: 0o100600, 1_000_000_000, 123_456_789),
            try member(bytes("-rf"), [.literal([2])]), try member(bytes("--checkpoint=1"), [.literal([3])]),
            try member([0x66, 0xFC, 0xFF, 0x2E, 0x78], [.literal([8])], 1_768_141_800, 1),
            try member(bytes(" leading and trailing "), [.literal([9])]),
            try member(bytes("old"), [.literal([10])], -86_400), try member(bytes("late"), [.literal([11])], 8_589_934_592),
            try member(bytes("media/"), mode: 0o040755, 1_000_000_001, 500_000_000),
            try member(bytes("media/empty folder/"), mode: 0o040700), try member(bytes("media/nothing")),
            try member(bytes("media/new\nline"), [.literal([1])]),
            try member(bytes("media/back\\slash\\n"), [.literal([4])]),
            try member(bytes("media/\u{1}\u{7F}\t'\"$`"), [.literal([5])]),
            try member(bytes("media/Grüße, 写真 🚗.jpg"), [.chunk(noise)]), try member(bytes("media/é"), [.literal([6])]),
            try member(bytes("media/e\u{301}"), [.literal([7])]),
            try member(bytes("script.sh"), [.literal(bytes("#!/bin/sh\n"))], mode: 0o100755),
            try member(bytes("link"), [.literal(bytes("media/é"))], mode: 0o120777, 1_000_000_002, 250_000_000),
            try member(bytes("dangling"), [.literal(bytes("../" + n(97)))], mode: 0o120777),
            try member(bytes("long target"), [.literal(bytes("../" + n(98)))], mode: 0o120777),
            try member(bytes("odd target"), [.literal([0xFE, 0x0A, 0x5C])], mode: 0o120777),
            try member(bytes(n(100)), [.literal([12])]), try member(bytes("m" + n(100)), [.literal([13])]),
            try member(bytes(n(255)), [.literal([14])]), try member([UInt8](repeating: 0xFF, count: 255), [.literal([15])]),
            try member(bytes(n(155) + "/" + n(100)), [.literal([16])]),
            try member(bytes(n(156) + "/" + n(100)), [.literal([17])]), try member(bytes(deep + "/"), mode: 0o040755),
            try member(bytes(deep + "/" + n(255)), [.literal([18])]),
        ]
        for count in [511, 512, 513, 9_728, 10_240] {
            members.append(try member(bytes("raw \(count)"), [.chunk(shelf.store(generator.noise(count), .raw))]))
        }
        return members
    }

    private func write(_ members: [ArchiveMember], to folder: TemporaryFolder) throws -> String {
        let table = try TARLayout.table(for: members)
        #expect(try TARLayout.archivedSize(of: members) == table.size)
        return try folder.write(shelf.materialize(table), to: "archive.tar")
    }

    /// Names, contents, targets, permissions and times of a folder, as the operating system sees them.
    private func expectTree(_ root: String, _ members: [ArchiveMember], folder: TemporaryFolder) throws {
        var lines = ""
        for member in members {
            let plain = try member.content.flatMap { try shelf.plain($0) }
            let time = member.modificationTime
            let kind = member.isDirectory ? "d" : member.isSymbolicLink ? "l" : "f"
            let content =
                member.isDirectory ? "" : member.isSymbolicLink ? Hexadecimal.encode(plain) : ContentDigest.sha256(plain)
            let mode = member.isSymbolicLink ? "" : String(member.mode & 0o7777, radix: 8)
            let path = Hexadecimal.encode(member.isDirectory ? member.path.dropLast() : member.path)
            lines += "\(path) \(kind) \(content) \(mode) \(Int64(time.nanoseconds) + time.seconds * 1_000_000_000)\n"
        }
        let list = try folder.write(Array(lines.utf8), to: "expected")
        try python(
            """
            import hashlib, os, stat, sys
            root = os.fsencode(sys.argv[1])
            expected = {line.split(" ")[0]: line.rstrip("\\n").split(" ")[1:] for line in open(sys.argv[2])}
            found = {}
            for folder, folders, names in os.walk(root):
                for name in folders + names:
                    path = os.path.join(folder, name)
                    status = os.lstat(path)
                    if stat.S_ISLNK(status.st_mode): row = ["l", os.readlink(path).hex(), ""]
                    elif stat.S_ISDIR(status.st_mode): row = ["d", "", "%o" % stat.S_IMODE(status.st_mode)]
                    else: row = ["f", hashlib.sha256(open(path, "rb").read()).hexdigest(), "%o" % stat.S_IMODE(status.st_mode)]
                    found[os.path.relpath(path, root).hex()] = row + [str(status.st_mtime_ns)]
            for key in sorted(set(expected) | set(found)):
                # Folders that are there only because something lies in them.
                if key not in expected and found[key][0] == "d": continue
                if expected.get(key) != found.get(key):
                    sys.exit(f"{bytes.fromhex(key)}: {expected.get(key)} {found.get(key)}")
            """, root, list)
    }

    @Test("GNU tar, bsdtar, 7z and Python accept it")
    func toolsAccept() throws {
        let folder = try TemporaryFolder()
        let members = try hostileMembers()
        let path = try write(members, to: folder)
        let listed = try run(["tar", "--quoting-style=escape", "-tvf", path])
        #expect(listed.status == 0 && listed.output.contains("-rw------- 0/0"), "\(listed.output)")
        #expect(
            try run(["sh", "-c", "tar --quoting-style=escape -tf \"$1\" 2>/dev/null | wc -l", "-", path]).output
                == "\(members.count)\n")
        try expectSuccess("bsdtar", "-tvf", path)
        try expectSuccess("7z", "t", path)
        try expectSuccess("python3", "-m", "tarfile", "-t", path)
        if Machine.hasTool("file") { #expect(try run(["file", "-b", path]).output == "POSIX tar archive\n") }
    }

    @Test(
        "GNU tar and bsdtar extract what went in: names, bytes, modes, targets, and times to the nanosecond",
        arguments: ["tar", "bsdtar"])
    func extraction(tool: String) throws {
        let folder = try TemporaryFolder()
        var members = try hostileMembers()
        // bsdtar composes accents on extraction, whatever the archive says.
        if tool == "bsdtar" { members.removeAll { $0.path.starts(with: Array("media/e\u{301}".utf8)) } }
        let path = try write(members, to: folder)
        let root = try folder.makeFolder("out")
        try expectSuccess("env", "LC_ALL=C.UTF-8", tool, "-xpf", path, "-C", root)
        try expectTree(root, members, folder: folder)
    }

    @Test("Python reads every name, target and byte")
    func pythonReads() throws {
        let folder = try TemporaryFolder()
        let members = try hostileMembers()
        let path = try write(members, to: folder)
        var expected = ""
        for member in members {
            let plain = try member.content.flatMap { try shelf.plain($0) }
            let content =
                member.isDirectory ? "" : member.isSymbolicLink ? Hexadecimal.encode(plain) : ContentDigest.sha256(plain)
            expected += "\(Hexadecimal.encode(member.isDirectory ? member.path.dropLast() : member.path)) \(content)\n"
        }
        let output = try python(
            """
            import hashlib, os, sys, tarfile
            for entry in (archive := tarfile.open(sys.argv[1], "r:", errorlevel=2)):
                content = "" if entry.isdir() else os.fsencode(entry.linkname).hex() if entry.issym() else \\
                    hashlib.sha256(archive.extractfile(entry).read()).hexdigest()
                print(os.fsencode(entry.name).hex(), content)
            """, path)
        #expect(output == expected)
    }

    @Test("a program that reads a stream and one that seeks find the same")
    func streaming() throws {
        let folder = try TemporaryFolder()
        let path = try write(hostileMembers(), to: folder)
        for tool in ["tar", "bsdtar"] {
            let result = try run([
                "bash", "-c", "cmp <(\(tool) -tf - < \"$1\" 2>/dev/null) <(\(tool) -tf \"$1\" 2>/dev/null)", "-", path,
            ])
            #expect(result.status == 0, "\(result.output)")
        }
    }

    @Test("an entry of 8 GiB, one of a byte less, and one behind them")
    func hugeEntries() throws {
        let folder = try TemporaryFolder()
        let limit: UInt64 = 8_589_934_592
        let zeros = ZeroSource()
        let members = [
            try member(Array("fits".utf8), [.source(zeros, offset: 0, length: limit - 1)]),
            try member(Array("does not".utf8), [.source(zeros, offset: 0, length: limit)]),
            try member(Array("behind".utf8), [.literal(Array("still here".utf8))]),
        ]
        let table = try TARLayout.table(for: members)
        #expect(try TARLayout.archivedSize(of: members) == table.size)
        let path = try folder.write([], to: "archive.tar")
        let file = try #require(FileHandle(forWritingAtPath: path))
        var offset: UInt64 = 0
        for extent in table.extents {
            // The zeros stay a hole.
            if case .source(let source, _, _) = extent, source === zeros {
            } else {
                try file.seek(toOffset: offset)
                try file.write(contentsOf: Data(shelf.bytes(of: extent)))
            }
            offset += extent.length
        }
        try file.close()
        let output = try python(
            """
            import sys, tarfile
            archive = tarfile.open(sys.argv[1])
            for entry in archive: print(entry.name, entry.size, entry.offset_data)
            print(archive.extractfile("behind").read().decode())
            """, path)
        #expect(
            output == """
                fits 8589934591 512
                does not 8589934592 8589936640
                behind 10 17179871744
                still here

                """)
        #expect(try run(["tar", "-xOf", path, "behind"]).output == "still here")
        #expect(try run(["bsdtar", "-xOf", path, "behind"]).output == "still here")
        #expect(try run(["7z", "x", "-so", path, "behind"]).output == "still here")
        let listed = try run(["sh", "-c", "tar -tvf \"$1\" | tr -s ' ' | cut -d' ' -f3,6-", "-", path])
        #expect(listed.output == "8589934591 fits\n8589934592 does not\n10 behind\n")
    }
}
