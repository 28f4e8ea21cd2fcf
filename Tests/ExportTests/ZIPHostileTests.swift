import BackupCore
import Export
import Foundation
import TestSupport
import Testing

/// A hostile or broken archive and what must be said about it.
struct HostileArchive: Sendable, CustomTestStringConvertible {
    let name: String
    let code: BackupError.Code
    /// Part of the first finding.
    let finding: String
    let program: String

    init(_ name: String, _ code: BackupError.Code, _ finding: String, _ program: String) {
        self.name = name
        self.code = code
        self.finding = finding
        self.program = program
    }

    var testDescription: String { name }

    static let structures: [HostileArchive] = [
        .init("empty file", .invalidContent, "has 0 bytes", "write(b'')"),
        .init("text", .invalidContent, "does not start with a ZIP entry", "write(b'{\"metadata\": {}}')"),
        .init("first four bytes only", .damagedContent, "cut off", "write(b'PK\\x03\\x04')"),
        .init("noise behind the signature", .damagedContent, "cut off", "write(b'PK\\x03\\x04' + bytes(range(256)) * 400)"),
        .init("prefix", .invalidContent, "does not start", "write(b'#!/bin/sh\\n' + archive(E(b'a')))"),
        .init(
            "prefix that looks like an entry", .damagedContent, "starts at byte",
            "write(archive(E(b'a', before=E(b'b').local())))"),
        .init("bytes behind the end", .damagedContent, "do not end with the file", "write(archive(E(b'a')) + b'x')"),
        .init(
            "comment too short", .damagedContent, "do not end with the file", "write(archive(E(b'a'), comment=b'abc', length=2))"),
        .init(
            "comment too long", .damagedContent, "do not end with the file", "write(archive(E(b'a'), comment=b'abc', length=4))"),
        .init(
            "archive hidden in the comment", .damagedContent, "", "write(archive(E(b'a'), comment=archive(E(b'b'))))"),
        .init(
            "archive in the comment with offsets of its own", .damagedContent, "starts at byte",
            """
            front = E(b'a').local() + b'content' + E(b'a').central(0) + end(1, 47, 38, length=122)
            hidden = E(b'b')
            write(front + hidden.local() + hidden.raw + hidden.central(len(front)) + end(1, 47, len(front) + 38))
            """),
        .init("empty archive with something in front", .damagedContent, "", "write(E(b'a').local() + b'content' + end(0, 0, 0))"),
        .init(
            "empty archive over an entry", .damagedContent, "belong to no entry",
            "write(E(b'a').local() + b'content' + end(0, 0, 38))"),
        .init("split archive", .invalidContent, "split", "write(archive(E(b'a'), disk=1))"),
        .init("entry on another disk", .invalidContent, "split", "write(archive(E(b'a', disk=1)))"),
        .init("counts that differ", .invalidContent, "split", "write(archive(E(b'a'), here=0))"),
        .init("more entries than there are", .damagedContent, "", "write(archive(E(b'a'), count=2))"),
        .init("fewer entries than there are", .damagedContent, "bytes more", "write(archive(E(b'a'), E(b'b'), count=1))"),
        .init("65,535 entries that are not there", .damagedContent, "too short", "write(archive(E(b'a'), count=65535))"),
        .init("gap between entries", .damagedContent, "starts at byte", "write(archive(E(b'a'), E(b'b', before=b'gap')))"),
        .init("gap before the directory", .damagedContent, "belong to no entry", "write(archive(E(b'a'), after=b'gap'))"),
        .init(
            "hidden entry between entries", .damagedContent, "starts at byte",
            "h = E(b'hidden'); write(archive(E(b'a'), E(b'b', before=h.local() + h.raw)))"),
        .init("the same data twice", .damagedContent, "overlaps", "write(archive(E(b'a'), E(b'b', c_offset=0)))"),
        .init(
            "overlapping data", .damagedContent, "",
            "inner = E(b'b'); write(archive(E(b'a', data=inner.local() + inner.raw), E(b'b', c_offset=31)))"),
        .init("central directory inside the data", .damagedContent, "", "write(archive(E(b'a'), offset=10))"),
        .init("offset beyond the end", .damagedContent, "", "write(archive(E(b'a'), offset=1 << 31))"),
        .init("directory of a wrong length", .damagedContent, "does not end", "write(archive(E(b'a'), size=1))"),
        .init(
            "data beyond the directory", .damagedContent, "reaches into",
            "write(archive(E(b'a', l_csize=99, l_usize=99, c_csize=99, c_usize=99)))"),
    ]

    static let contradictions: [HostileArchive] = [
        .init("two names", .damagedContent, "the name is \"b\"", "write(archive(E(b'a', l_name=b'b')))"),
        .init("two methods", .damagedContent, "the method differs", "write(archive(E(b'a', c_method=8)))"),
        .init("two flags", .damagedContent, "the flags differ", "write(archive(E(b'a', l_flags=1 << 11)))"),
        .init("encrypted in one header", .damagedContent, "the flags differ", "write(archive(E(b'a', l_flags=1)))"),
        .init("two CRCs", .damagedContent, "the CRC differs", "write(archive(E(b'a', l_crc=1)))"),
        .init("two sizes", .damagedContent, "the sizes differ", "write(archive(E(b'a', method=8, l_usize=5)))"),
        .init("two compressed sizes", .damagedContent, "the sizes differ", "write(archive(E(b'a', method=8, l_csize=5)))"),
        .init(
            "no local sizes without a descriptor", .damagedContent, "the sizes differ",
            "write(archive(E(b'a', l_csize=0, l_usize=0)))"),
        .init(
            "no entry there", .damagedContent, "There is no entry",
            "a = archive(E(b'a'), E(b'b')); at = a.rindex(b'PK\\x03\\x04'); write(a[:at] + b'PKxx' + a[at + 4:])"),
        .init("stored with two sizes", .damagedContent, "cannot be true", "write(archive(E(b'a', l_usize=9, c_usize=9)))"),
        .init("descriptor missing", .damagedContent, "0 bytes", "write(archive(E(b'a', flags=8)))"),
        .init(
            "descriptor that lies", .damagedContent, "descriptor",
            "write(archive(E(b'a', flags=8, descriptor=descriptor(b'CONTENT'))))"),
        .init(
            "descriptor without its signature", .damagedContent, "descriptor",
            "write(archive(E(b'a', flags=8, descriptor=bytes(16))))"),
        .init(
            "descriptor and more", .damagedContent, "19 bytes",
            "write(archive(E(b'a', flags=8, descriptor=descriptor(b'content') + b'abc')))"),
        .init(
            "another name in an extra field", .damagedContent, "two names",
            "write(archive(E(b'a', extra=struct.pack('<2HBI', 0x7075, 6, 1, zlib.crc32(b'a')) + b'b')))"),
        .init(
            "another mode in an extra field", .damagedContent, "second mode",
            "write(archive(E(b'a', extra=struct.pack('<2H', 0x756E, 14) + bytes(14))))"),
        .init(
            "extra field too long", .damagedContent, "longer than its header",
            "write(archive(E(b'a', extra=struct.pack('<2H', 0x9999, 9) + b'x')))"),
        .init("extra field without an end", .damagedContent, "malformed", "write(archive(E(b'a', extra=b'xyz')))"),
        .init("marked as UTF-8 and is not", .damagedContent, "UTF-8", "write(archive(E(b'\\xff', flags=1 << 11)))"),
    ]

    static let zip64Lies: [HostileArchive] = [
        .init("ZIP64 field missing", .damagedContent, "ZIP64 field", "write(archive(E(b'a', c_usize=0xFFFFFFFF)))"),
        .init(
            "ZIP64 field twice", .damagedContent, "two ZIP64", "write(archive(E(b'a', extra=struct.pack('<2HQ', 1, 8, 7) * 2)))"),
        .init(
            "ZIP64 field too short", .damagedContent, "ZIP64 field",
            "write(archive(E(b'a', c_usize=0xFFFFFFFF, c_csize=0xFFFFFFFF, c_extra=struct.pack('<2HQ', 1, 8, 7))))"),
        .init(
            "ZIP64 field with more than was asked for", .damagedContent, "ZIP64 field",
            "write(archive(E(b'a', c_offset=0xFFFFFFFF, c_extra=struct.pack('<2H3Q', 1, 24, 7, 7, 0))))"),
        .init(
            "ZIP64 field that says something else", .damagedContent, "ZIP64 field",
            "write(archive(E(b'a', c_extra=struct.pack('<2H2Q', 1, 16, 8, 8))))"),
        .init(
            "local ZIP64 field that says something else", .damagedContent, "the sizes differ",
            "write(archive(E(b'a', l_usize=0xFFFFFFFF, l_csize=0xFFFFFFFF, l_extra=struct.pack('<2H2Q', 1, 16, 8, 8))))"),
        .init(
            "huge sizes", .tooLarge, "unpacks to more",
            "write(archive(E(b'a', method=0, c_usize=0xFFFFFFFF, c_csize=0xFFFFFFFF, c_extra=struct.pack('<2H2Q', 1, 16, 1 << 63, 1 << 63))))"
        ),
        .init(
            "sizes that overflow", .tooLarge, "unpacks to more",
            "e = dict(c_usize=0xFFFFFFFF, c_csize=0xFFFFFFFF, c_extra=struct.pack('<2H2Q', 1, 16, (1 << 64) - 1, (1 << 64) - 1)); write(archive(E(b'a', **e), E(b'b', **e)))"
        ),
        .init(
            "offset beyond everything", .damagedContent, "starts at byte",
            "write(archive(E(b'a', c_offset=0xFFFFFFFF, c_extra=struct.pack('<2HQ', 1, 8, (1 << 64) - 1))))"),
        .init(
            "locator to nowhere", .damagedContent, "locator",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), len(d) + len(c), locator=1 << 63) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
        .init(
            "locator to another record", .damagedContent, "locator",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), 0) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"),
        .init(
            "end records that differ", .damagedContent, "contradict",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), len(d) + len(c)) + end(2, len(c), len(d)))"),
        .init(
            "ZIP64 record of another length", .damagedContent, "locator",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), len(d) + len(c), length=45) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
        .init(
            "2^64 entries", .tooLarge, "entries",
            "d, c = body([E(b'a')]); write(d + c + end64((1 << 64) - 1, len(c), len(d), len(d) + len(c)) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
        .init(
            "1,000,000 entries in a small file", .damagedContent, "too short",
            "d, c = body([E(b'a')]); write(d + c + end64(1000000, len(c), len(d), len(d) + len(c)) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
    ]

    static let names: [HostileArchive] = [
        .init("absolute path", .invalidContent, "absolute", "write(archive(E(b'/etc/passwd')))"),
        .init("parent folder", .invalidContent, "unsafe", "write(archive(E(b'../evil')))"),
        .init("parent folder inside", .invalidContent, "unsafe", "write(archive(E(b'a/../../evil')))"),
        .init("parent folder at the end", .invalidContent, "unsafe", "write(archive(E(b'a/..')))"),
        .init("parent folder as a folder", .invalidContent, "unsafe", "write(archive(E(b'a/../', b'', attr=0)))"),
        .init("this folder", .invalidContent, "unsafe", "write(archive(E(b'./a')))"),
        .init("empty component", .invalidContent, "unsafe", "write(archive(E(b'a//b')))"),
        .init("slash alone", .invalidContent, "absolute", "write(archive(E(b'/', b'')))"),
        .init("backslash", .invalidContent, "backslash", "write(archive(E(b'..\\\\evil')))"),
        .init("NUL", .invalidContent, "NUL", "write(archive(E(b'a.json\\x00.jpg')))"),
        .init("no name", .invalidContent, "no name", "write(archive(E(b'')))"),
        .init("name of 4,097 bytes", .tooLarge, "too long", "write(archive(E(b'a/' * 2048 + b'b')))"),
        .init("component of 256 bytes", .invalidContent, "unsafe", "write(archive(E(b'a' * 256)))"),
        .init("two of one name", .invalidContent, "two entries named \"a\"", "write(archive(E(b'a'), E(b'b'), E(b'a')))"),
        .init("file as a folder", .invalidContent, "would be inside it", "write(archive(E(b'a/b'), E(b'a!'), E(b'a')))"),
        .init(
            "file and folder of one name", .invalidContent, "would be inside it", "write(archive(E(b'a'), E(b'a/', b'', attr=0)))"
        ),
        .init(
            "symbolic link", .invalidContent, "link or a device", "write(archive(E(b'a', b'/etc/passwd', attr=0o120777 << 16)))"),
        .init(
            "symbolic link from DOS", .invalidContent, "link or a device",
            "write(archive(E(b'a', b'/etc/passwd', attr=0o120777 << 16, host=0)))"),
        .init("character device", .invalidContent, "link or a device", "write(archive(E(b'a', attr=0o020666 << 16)))"),
        .init("named pipe", .invalidContent, "link or a device", "write(archive(E(b'a', attr=0o010666 << 16)))"),
        .init("folder by its mode", .invalidContent, "file by one sign", "write(archive(E(b'a', attr=0o040755 << 16)))"),
        .init("file by its mode", .invalidContent, "file by one sign", "write(archive(E(b'a/', b'', attr=0o100644 << 16)))"),
        .init("folder by its DOS attribute", .invalidContent, "file by one sign", "write(archive(E(b'a', attr=0x10, host=0)))"),
        .init("folder with content", .damagedContent, "cannot be true", "write(archive(E(b'a/', b'data', attr=0)))"),
        .init("encrypted", .invalidContent, "encrypted", "write(archive(E(b'a', flags=1)))"),
        .init("strongly encrypted", .invalidContent, "features", "write(archive(E(b'a', flags=1 << 6)))"),
        .init("masked headers", .invalidContent, "features", "write(archive(E(b'a', flags=1 << 13)))"),
        .init("LZMA", .invalidContent, "unknown method 14", "write(archive(E(b'a', l_method=14, c_method=14)))"),
        .init("DEFLATE64", .invalidContent, "unknown method 9", "write(archive(E(b'a', l_method=9, c_method=9)))"),
    ]

    static let bombs: [HostileArchive] = [
        .init("more than the limit", .tooLarge, "unpacks to more", "write(archive(E(b'a', bytes(1 << 21), method=8)))"),
        .init(
            "many entries together over the limit", .tooLarge, "unpacks to more",
            "write(archive(*[E(b'%d' % i, bytes(1 << 19), method=8) for i in range(3)]))"),
        .init(
            "a ratio that DEFLATE does not reach", .damagedContent, "cannot be true",
            "write(archive(E(b'a', b'content', method=8, l_usize=1 << 20, c_usize=1 << 20)))"),
    ]

    /// Refused only when the content is read.
    static let contents: [HostileArchive] = [
        .init("wrong CRC", .damagedContent, "CRC", "write(archive(E(b'a', l_crc=1, c_crc=1)))"),
        .init("wrong CRC, deflated", .damagedContent, "CRC", "write(archive(E(b'a', method=8, l_crc=1, c_crc=1)))"),
        .init("shorter than it says", .damagedContent, "size", "write(archive(E(b'a', method=8, l_usize=8, c_usize=8)))"),
        .init("longer than it says", .damagedContent, "damaged", "write(archive(E(b'a', method=8, l_usize=6, c_usize=6)))"),
        .init(
            "much longer than it says", .damagedContent, "damaged",
            "write(archive(E(b'a', bytes(1 << 26), method=8, l_usize=1, c_usize=1)))"),
        .init(
            "no final block", .damagedContent, "damaged",
            "write(archive(E(b'a', method=8, raw=b'\\x00\\x07\\x00\\xf8\\xffcontent')))"),
        .init(
            "bytes behind the final block", .damagedContent, "size",
            "write(archive(E(b'a', method=8, raw=deflate(b'content') + b'x')))"),
        .init(
            "two streams in one", .damagedContent, "size",
            "write(archive(E(b'a', method=8, raw=deflate(b'content') + deflate(b''))))"),
        .init("not DEFLATE", .damagedContent, "damaged", "write(archive(E(b'a', method=8, raw=b'\\xff' * 20)))"),
        .init("cut off", .damagedContent, "damaged", "write(archive(E(b'a', method=8, raw=deflate(b'content')[:-3])))"),
        .init("nothing", .damagedContent, "cannot be true", "write(archive(E(b'a', bytes(2000), method=8, raw=b'')))"),
        .init("nothing for little", .damagedContent, "damaged", "write(archive(E(b'a', method=8, raw=b'')))"),
        .init(
            "a reference before the start", .damagedContent, "damaged",
            "p = zlib.compressobj(9, 8, -15, zdict=b'content'); write(archive(E(b'a', method=8, raw=p.compress(b'content') + p.flush())))"
        ),
    ]
}

@Suite("ZIP reader: hostile archives")
struct ZIPHostileTests {
    private let limits = ZIPLimits(totalSizeBytes: 1 << 20)

    @Test(
        "refused when it is opened",
        arguments: HostileArchive.structures + HostileArchive.contradictions + HostileArchive.zip64Lies + HostileArchive.names
            + HostileArchive.bombs)
    func refusedAtOpening(_ archive: HostileArchive) throws {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make(archive.program, in: folder)
        let error = try #require(throws: BackupError.self) { try ZIPReader(path: path, limits: limits) }
        try expect(error, archive)
        #expect(error.path == path)
    }

    @Test("refused when its content is read", arguments: HostileArchive.contents)
    func refusedAtExtraction(_ archive: HostileArchive) throws {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make(archive.program, in: folder)
        var givenCount = 0
        let error = try #require(throws: BackupError.self) {
            let reader = try ZIPReader(path: path, limits: limits)
            try reader.extract(reader.entries()[0]) { part in givenCount += part.count }
        }
        try expect(error, archive)
        #expect(givenCount <= 7)
    }

    private func expect(_ error: BackupError, _ archive: HostileArchive) throws {
        #expect(error.code == archive.code, "\(error) \(error.findings)")
        let finding = try #require(error.findings.first)
        #expect(archive.finding.isEmpty || finding.contains(archive.finding), "\(finding)")
        switch archive.code {
        case .damagedContent: #expect(error.message == "This backup file is corrupted and cannot be restored.")
        case .invalidContent:
            #expect(
                error.message == "Invalid file format. Please select a valid backup file."
                    || error.message == "Import failed: " + finding)
        default: #expect(error.message == "Import failed: " + finding)
        }
    }

    @Test("a ratio bomb is refused by its headers, a large honest archive is not")
    func ratio() throws {
        let folder = try TemporaryFolder()
        let bomb = try ZIPCraft.make("z = bytes(1 << 27); write(archive(E(b'a', z, method=8)))", in: folder)
        let limits = ZIPLimits(totalSizeBytes: 1 << 40)
        let error = try #require(throws: BackupError.self) { try ZIPReader(path: bomb, limits: limits) }
        #expect(error.code == .tooLarge)
        let honest = try ZIPCraft.make("z = bytes(100 << 20); write(archive(E(b'a', z, method=8)))", in: folder)
        let reader = try ZIPReader(path: honest, limits: limits)
        var count = 0
        try reader.extract(reader.entries()[0]) { part in count += part.count }
        #expect(count == 100 << 20)
    }

    @Test("an archive that is cut off anywhere is refused")
    func everyPrefix() throws {
        let archive = try smallArchive()
        for count in 0..<archive.count {
            let error = #expect(throws: BackupError.self) {
                try ZIPReader(source: MemorySource(Array(archive.prefix(count))), size: UInt64(count), limits: limits)
            }
            #expect(error?.code == (count < 4 ? .invalidContent : .damagedContent))
        }
    }

    @Test("a changed byte anywhere is noticed, unless it says nothing about names and content")
    func everyByteChanged() throws {
        let archive = try smallArchive()
        let original = try contents(of: archive)
        var unnoticed = 0
        for index in archive.indices {
            for mask in [0x01, 0x80, 0xFF] as [UInt8] {
                var changed = archive
                changed[index] ^= mask
                if let found = try? contents(of: changed) {
                    #expect(found == original, "byte \(index)")
                    unnoticed += 1
                }
            }
        }
        // Versions, times, attributes and comment bytes: a few dozen for each entry and no more.
        #expect(unnoticed < archive.count)
    }

    private func contents(of archive: [UInt8]) throws -> [[UInt8]: [UInt8]] {
        let reader = try ZIPReader(source: MemorySource(archive), size: UInt64(archive.count), limits: limits)
        var result: [[UInt8]: [UInt8]] = [:]
        for entry in reader.entries() { result[entry.path] = try reader.content(of: entry) }
        return result
    }

    private func smallArchive() throws -> [UInt8] {
        let folder = try TemporaryFolder()
        let path = try ZIPCraft.make(
            """
            d = b'content ' * 9
            streamed = dict(l_crc=0, l_csize=0, l_usize=0, flags=8, descriptor=descriptor(d, deflate(d)))
            write(archive(E(b'folder/', b'', attr=0o40755 << 16), E(b'folder/stored'), E(b'deflated', d, method=8),
                E(b'streamed', d, method=8, **streamed), comment=b'a comment'))
            """, in: folder)
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }
}
