import BackupCore

/// Archives that contradict themselves, or request things that are never granted.
extension HostileInput {
    public static let zipStructures: [HostileInput] = [
        .zip("empty file", .invalidContent, "has 0 bytes", "write(b'')"),
        .zip("text", .invalidContent, "does not start with a ZIP entry", "write(b'{\"metadata\": {}}')"),
        .zip("first four bytes only", .damagedContent, "cut off", "write(b'PK\\x03\\x04')"),
        .zip("noise behind the signature", .damagedContent, "cut off", "write(b'PK\\x03\\x04' + bytes(range(256)) * 400)"),
        .zip("prefix", .invalidContent, "does not start", "write(b'#!/bin/sh\\n' + archive(E(b'a')))"),
        .zip(
            "prefix that looks like an entry", .damagedContent, "starts at byte",
            "write(archive(E(b'a', before=E(b'b').local())))"),
        .zip("bytes behind the end", .damagedContent, "do not end with the file", "write(archive(E(b'a')) + b'x')"),
        .zip(
            "comment too short", .damagedContent, "do not end with the file", "write(archive(E(b'a'), comment=b'abc', length=2))"),
        .zip(
            "comment too long", .damagedContent, "do not end with the file", "write(archive(E(b'a'), comment=b'abc', length=4))"),
        .zip(
            "archive hidden in the comment", .damagedContent, "", "write(archive(E(b'a'), comment=archive(E(b'b'))))"),
        .zip(
            "archive in the comment with offsets of its own", .damagedContent, "starts at byte",
            """
            front = E(b'a').local() + b'content' + E(b'a').central(0) + end(1, 47, 38, length=122)
            hidden = E(b'b')
            write(front + hidden.local() + hidden.raw + hidden.central(len(front)) + end(1, 47, len(front) + 38))
            """),
        .zip("empty archive with something in front", .damagedContent, "", "write(E(b'a').local() + b'content' + end(0, 0, 0))"),
        .zip(
            "empty archive over an entry", .damagedContent, "belong to no entry",
            "write(E(b'a').local() + b'content' + end(0, 0, 38))"),
        .zip("split archive", .invalidContent, "split", "write(archive(E(b'a'), disk=1))"),
        .zip("entry on another disk", .invalidContent, "split", "write(archive(E(b'a', disk=1)))"),
        .zip("counts that differ", .invalidContent, "split", "write(archive(E(b'a'), here=0))"),
        .zip("more entries than there are", .damagedContent, "", "write(archive(E(b'a'), count=2))"),
        .zip("fewer entries than there are", .damagedContent, "bytes more", "write(archive(E(b'a'), E(b'b'), count=1))"),
        .zip("65,535 entries that are not there", .damagedContent, "too short", "write(archive(E(b'a'), count=65535))"),
        .zip("gap between entries", .damagedContent, "starts at byte", "write(archive(E(b'a'), E(b'b', before=b'gap')))"),
        .zip("gap before the directory", .damagedContent, "belong to no entry", "write(archive(E(b'a'), after=b'gap'))"),
        .zip(
            "hidden entry between entries", .damagedContent, "starts at byte",
            "h = E(b'hidden'); write(archive(E(b'a'), E(b'b', before=h.local() + h.raw)))"),
        .zip("the same data twice", .damagedContent, "overlaps", "write(archive(E(b'a'), E(b'b', c_offset=0)))"),
        .zip(
            "overlapping data", .damagedContent, "",
            "inner = E(b'b'); write(archive(E(b'a', data=inner.local() + inner.raw), E(b'b', c_offset=31)))"),
        .zip("central directory inside the data", .damagedContent, "", "write(archive(E(b'a'), offset=10))"),
        .zip("offset beyond the end", .damagedContent, "", "write(archive(E(b'a'), offset=1 << 31))"),
        .zip("directory of a wrong length", .damagedContent, "does not end", "write(archive(E(b'a'), size=1))"),
        .zip(
            "data beyond the directory", .damagedContent, "reaches into",
            "write(archive(E(b'a', l_csize=99, l_usize=99, c_csize=99, c_usize=99)))"),
    ]

    public static let zipContradictions: [HostileInput] = [
        .zip("two names", .damagedContent, "the name is \"b\"", "write(archive(E(b'a', l_name=b'b')))"),
        .zip("two methods", .damagedContent, "the method differs", "write(archive(E(b'a', c_method=8)))"),
        .zip("two flags", .damagedContent, "the flags differ", "write(archive(E(b'a', l_flags=1 << 11)))"),
        .zip("encrypted in one header", .damagedContent, "the flags differ", "write(archive(E(b'a', l_flags=1)))"),
        .zip("two CRCs", .damagedContent, "the CRC differs", "write(archive(E(b'a', l_crc=1)))"),
        .zip("two sizes", .damagedContent, "the sizes differ", "write(archive(E(b'a', method=8, l_usize=5)))"),
        .zip("two compressed sizes", .damagedContent, "the sizes differ", "write(archive(E(b'a', method=8, l_csize=5)))"),
        .zip(
            "no local sizes without a descriptor", .damagedContent, "the sizes differ",
            "write(archive(E(b'a', l_csize=0, l_usize=0)))"),
        .zip(
            "no entry there", .damagedContent, "There is no entry",
            "a = archive(E(b'a'), E(b'b')); at = a.rindex(b'PK\\x03\\x04'); write(a[:at] + b'PKxx' + a[at + 4:])"),
        .zip("stored with two sizes", .damagedContent, "cannot be true", "write(archive(E(b'a', l_usize=9, c_usize=9)))"),
        .zip("descriptor missing", .damagedContent, "0 bytes", "write(archive(E(b'a', flags=8)))"),
        .zip(
            "descriptor that lies", .damagedContent, "descriptor",
            "write(archive(E(b'a', flags=8, descriptor=descriptor(b'CONTENT'))))"),
        .zip(
            "stored with its length behind it", .invalidContent, "cannot find its end",
            "write(archive(E(b'a', flags=8, l_crc=0, l_csize=0, l_usize=0, descriptor=descriptor(b'content'))))"),
        .zip(
            "descriptor without its signature", .damagedContent, "descriptor",
            "write(archive(E(b'a', flags=8, descriptor=bytes(16))))"),
        .zip(
            "descriptor and more", .damagedContent, "19 bytes",
            "write(archive(E(b'a', flags=8, descriptor=descriptor(b'content') + b'abc')))"),
        .zip(
            "another name in an extra field", .damagedContent, "two names",
            "write(archive(E(b'a', extra=struct.pack('<2HBI', 0x7075, 6, 1, zlib.crc32(b'a')) + b'b')))"),
        .zip(
            "another mode in an extra field", .damagedContent, "second mode",
            "write(archive(E(b'a', extra=struct.pack('<2H', 0x756E, 14) + bytes(14))))"),
        .zip(
            "extra field too long", .damagedContent, "longer than its header",
            "write(archive(E(b'a', extra=struct.pack('<2H', 0x9999, 9) + b'x')))"),
        .zip("extra field without an end", .damagedContent, "malformed", "write(archive(E(b'a', extra=b'xyz')))"),
        .zip("marked as UTF-8 and is not", .damagedContent, "UTF-8", "write(archive(E(b'\\xff', flags=1 << 11)))"),
    ]

    public static let zip64Lies: [HostileInput] = [
        .zip("ZIP64 field missing", .damagedContent, "ZIP64 field", "write(archive(E(b'a', c_usize=0xFFFFFFFF)))"),
        .zip(
            "ZIP64 field twice", .damagedContent, "two ZIP64", "write(archive(E(b'a', extra=struct.pack('<2HQ', 1, 8, 7) * 2)))"),
        .zip(
            "ZIP64 field too short", .damagedContent, "ZIP64 field",
            "write(archive(E(b'a', c_usize=0xFFFFFFFF, c_csize=0xFFFFFFFF, c_extra=struct.pack('<2HQ', 1, 8, 7))))"),
        .zip(
            "ZIP64 field with more than was asked for", .damagedContent, "ZIP64 field",
            "write(archive(E(b'a', c_offset=0xFFFFFFFF, c_extra=struct.pack('<2H3Q', 1, 24, 7, 7, 0))))"),
        .zip(
            "ZIP64 field that says something else", .damagedContent, "ZIP64 field",
            "write(archive(E(b'a', c_extra=struct.pack('<2H2Q', 1, 16, 8, 8))))"),
        .zip(
            "local ZIP64 field that says something else", .damagedContent, "the sizes differ",
            "write(archive(E(b'a', l_usize=0xFFFFFFFF, l_csize=0xFFFFFFFF, l_extra=struct.pack('<2H2Q', 1, 16, 8, 8))))"),
        .zip(
            "huge sizes", .tooLarge, "unpacks to more",
            "write(archive(E(b'a', method=0, c_usize=0xFFFFFFFF, c_csize=0xFFFFFFFF, c_extra=struct.pack('<2H2Q', 1, 16, 1 << 63, 1 << 63))))"
        ),
        .zip(
            "sizes that overflow", .tooLarge, "unpacks to more",
            "e = dict(c_usize=0xFFFFFFFF, c_csize=0xFFFFFFFF, c_extra=struct.pack('<2H2Q', 1, 16, (1 << 64) - 1, (1 << 64) - 1)); write(archive(E(b'a', **e), E(b'b', **e)))"
        ),
        .zip(
            "offset beyond everything", .damagedContent, "starts at byte",
            "write(archive(E(b'a', c_offset=0xFFFFFFFF, c_extra=struct.pack('<2HQ', 1, 8, (1 << 64) - 1))))"),
        .zip(
            "locator to nowhere", .damagedContent, "locator",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), len(d) + len(c), locator=1 << 63) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
        .zip(
            "locator to another record", .damagedContent, "locator",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), 0) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"),
        .zip(
            "end records that differ", .damagedContent, "contradict",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), len(d) + len(c)) + end(2, len(c), len(d)))"),
        .zip(
            "ZIP64 record of another length", .damagedContent, "locator",
            "d, c = body([E(b'a')]); write(d + c + end64(1, len(c), len(d), len(d) + len(c), length=45) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
        .zip(
            "2^64 entries", .tooLarge, "entries",
            "d, c = body([E(b'a')]); write(d + c + end64((1 << 64) - 1, len(c), len(d), len(d) + len(c)) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
        .zip(
            "1,000,000 entries in a small file", .damagedContent, "too short",
            "d, c = body([E(b'a')]); write(d + c + end64(1000000, len(c), len(d), len(d) + len(c)) + end(0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF))"
        ),
    ]

    public static let zipNames: [HostileInput] = [
        .zip("absolute path", .invalidContent, "absolute", "write(archive(E(b'/etc/passwd')))"),
        .zip("parent folder", .invalidContent, "unsafe", "write(archive(E(b'../evil')))"),
        .zip("parent folder inside", .invalidContent, "unsafe", "write(archive(E(b'a/../../evil')))"),
        .zip("parent folder at the end", .invalidContent, "unsafe", "write(archive(E(b'a/..')))"),
        .zip("parent folder as a folder", .invalidContent, "unsafe", "write(archive(E(b'a/../', b'', attr=0)))"),
        .zip("this folder", .invalidContent, "unsafe", "write(archive(E(b'./a')))"),
        .zip("empty component", .invalidContent, "unsafe", "write(archive(E(b'a//b')))"),
        .zip("slash alone", .invalidContent, "absolute", "write(archive(E(b'/', b'')))"),
        .zip("backslash", .invalidContent, "backslash", "write(archive(E(b'..\\\\evil')))"),
        .zip("NUL", .invalidContent, "NUL", "write(archive(E(b'a.json\\x00.jpg')))"),
        .zip("no name", .invalidContent, "no name", "write(archive(E(b'')))"),
        .zip("name of 4,097 bytes", .tooLarge, "too long", "write(archive(E(b'a/' * 2048 + b'b')))"),
        .zip("component of 256 bytes", .invalidContent, "unsafe", "write(archive(E(b'a' * 256)))"),
        .zip("two of one name", .invalidContent, "two entries named \"a\"", "write(archive(E(b'a'), E(b'b'), E(b'a')))"),
        .zip("file as a folder", .invalidContent, "would be inside it", "write(archive(E(b'a/b'), E(b'a!'), E(b'a')))"),
        .zip(
            "file and folder of one name", .invalidContent, "would be inside it", "write(archive(E(b'a'), E(b'a/', b'', attr=0)))"
        ),
        .zip(
            "symbolic link", .invalidContent, "link or a device", "write(archive(E(b'a', b'/etc/passwd', attr=0o120777 << 16)))"),
        .zip(
            "symbolic link from DOS", .invalidContent, "link or a device",
            "write(archive(E(b'a', b'/etc/passwd', attr=0o120777 << 16, host=0)))"),
        .zip("character device", .invalidContent, "link or a device", "write(archive(E(b'a', attr=0o020666 << 16)))"),
        .zip("named pipe", .invalidContent, "link or a device", "write(archive(E(b'a', attr=0o010666 << 16)))"),
        .zip("folder by its mode", .invalidContent, "file by one sign", "write(archive(E(b'a', attr=0o040755 << 16)))"),
        .zip("file by its mode", .invalidContent, "file by one sign", "write(archive(E(b'a/', b'', attr=0o100644 << 16)))"),
        .zip("folder by its DOS attribute", .invalidContent, "file by one sign", "write(archive(E(b'a', attr=0x10, host=0)))"),
        .zip("folder with content", .damagedContent, "cannot be true", "write(archive(E(b'a/', b'data', attr=0)))"),
        .zip("encrypted", .invalidContent, "encrypted", "write(archive(E(b'a', flags=1)))"),
        .zip("strongly encrypted", .invalidContent, "features", "write(archive(E(b'a', flags=1 << 6)))"),
        .zip("masked headers", .invalidContent, "features", "write(archive(E(b'a', flags=1 << 13)))"),
        .zip("LZMA", .invalidContent, "unknown method 14", "write(archive(E(b'a', l_method=14, c_method=14)))"),
        .zip("DEFLATE64", .invalidContent, "unknown method 9", "write(archive(E(b'a', l_method=9, c_method=9)))"),
    ]

    public static let zipBombs: [HostileInput] = [
        .zip("more than the limit", .tooLarge, "unpacks to more", "write(archive(E(b'a', bytes(1 << 21), method=8)))"),
        .zip(
            "many entries together over the limit", .tooLarge, "unpacks to more",
            "write(archive(*[E(b'%d' % i, bytes(1 << 19), method=8) for i in range(3)]))"),
        .zip(
            "a ratio that DEFLATE does not reach", .damagedContent, "cannot be true",
            "write(archive(E(b'a', b'content', method=8, l_usize=1 << 20, c_usize=1 << 20)))"),
    ]

    /// Rejected only when the content is read.
    public static let zipContents: [HostileInput] = [
        .zip("wrong CRC", .damagedContent, "CRC", "write(archive(E(b'a', l_crc=1, c_crc=1)))"),
        .zip("wrong CRC, deflated", .damagedContent, "CRC", "write(archive(E(b'a', method=8, l_crc=1, c_crc=1)))"),
        .zip("shorter than it says", .damagedContent, "size", "write(archive(E(b'a', method=8, l_usize=8, c_usize=8)))"),
        .zip("longer than it says", .damagedContent, "damaged", "write(archive(E(b'a', method=8, l_usize=6, c_usize=6)))"),
        .zip(
            "much longer than it says", .damagedContent, "damaged",
            "write(archive(E(b'a', bytes(1 << 26), method=8, l_usize=1, c_usize=1)))"),
        .zip(
            "no final block", .damagedContent, "damaged",
            "write(archive(E(b'a', method=8, raw=b'\\x00\\x07\\x00\\xf8\\xffcontent')))"),
        .zip(
            "bytes behind the final block", .damagedContent, "size",
            "write(archive(E(b'a', method=8, raw=deflate(b'content') + b'x')))"),
        .zip(
            "two streams in one", .damagedContent, "size",
            "write(archive(E(b'a', method=8, raw=deflate(b'content') + deflate(b''))))"),
        .zip("not DEFLATE", .damagedContent, "damaged", "write(archive(E(b'a', method=8, raw=b'\\xff' * 20)))"),
        .zip("cut off", .damagedContent, "damaged", "write(archive(E(b'a', method=8, raw=deflate(b'content')[:-3])))"),
        .zip("nothing", .damagedContent, "cannot be true", "write(archive(E(b'a', bytes(2000), method=8, raw=b'')))"),
        .zip("nothing for little", .damagedContent, "damaged", "write(archive(E(b'a', method=8, raw=b'')))"),
        .zip(
            "a reference before the start", .damagedContent, "damaged",
            "p = zlib.compressobj(9, 8, -15, zdict=b'content'); write(archive(E(b'a', method=8, raw=p.compress(b'content') + p.flush())))"
        ),
    ]
}
