/// tar archives that are broken, ambiguous or request things that are never granted.
extension HostileInput {
    /// Rejected when they are opened.
    public static let tars: [HostileInput] = [
        .tar("cut off after a header", .damagedContent, "cut off", "write(header(b'a', 7))"),
        .tar("cut off in the content", .damagedContent, "cut off", "write(header(b'a', 700) + b'content')"),
        .tar("without an end", .damagedContent, "no end", "write(member(b'a'))"),
        .tar("half an end", .damagedContent, "no end", "write(member(b'a') + bytes(512))"),
        .tar(
            "bytes behind the end", .damagedContent, "The archive's end is followed by bytes", "write(member(b'a') + END + b'x')"),
        .tar(
            "another archive behind the end", .damagedContent, "The archive's end is followed by bytes",
            "write(member(b'a') + END + member(b'b') + END)"),
        .tar("a wrong checksum later", .damagedContent, "checksum", "write(member(b'a') + member(b'b', total=1) + END)"),
        .tar(
            "a size that is no number", .damagedContent, "a number that is none",
            "write(header(b'a', rawsize=b'99999999999 ') + END)"),
        .tar("a negative size", .damagedContent, "a number that is none", "write(header(b'a', rawsize=b'\\xff' * 12) + END)"),
        .tar(
            "a size beyond everything", .damagedContent, "cut off",
            "write(header(b'a', rawsize=b'\\x80' + bytes(3) + b'\\x7f' + b'\\xff' * 7) + END)"),
        .tar(
            "the old form without a magic", .invalidContent, "old tar format",
            "write(member(b'a') + member(b'b', magic=bytes(8)) + END)"),
        .tar(
            "an incremental archive", .invalidContent, "incremental",
            "write(member(b'a', magic=b'ustar  \\0') + member(b'a', magic=b'ustar  \\0', prefix=b'p') + END)"),
        .tar("absolute path", .invalidContent, "absolute", "write(member(b'/etc/passwd') + END)"),
        .tar("parent folder", .invalidContent, "unsafe", "write(member(b'../evil') + END)"),
        .tar("parent folder behind dots", .invalidContent, "unsafe", "write(member(b'./../evil') + END)"),
        .tar("parent folder in the prefix", .invalidContent, "unsafe", "write(member(b'evil', prefix=b'..') + END)"),
        .tar("empty component", .invalidContent, "unsafe", "write(member(b'a//b') + END)"),
        .tar("no name", .invalidContent, "no name", "write(member(b'a') + member(b'') + END)"),
        .tar("two of one name", .invalidContent, "two entries", "write(member(b'a') + member(b'a') + END)"),
        .tar("two of one name, one with a dot", .invalidContent, "two entries", "write(member(b'a') + member(b'./a') + END)"),
        .tar("file as a folder", .invalidContent, "would be inside it", "write(member(b'a') + member(b'a/b') + END)"),
        .tar(
            "link as a folder", .invalidContent, "would be inside it",
            "write(member(b'a', b'', kind=b'2', link=b'/tmp') + member(b'a/evil') + END)"),
        .tar("file that ends with a slash", .invalidContent, "file by one sign", "write(member(b'a/') + END)"),
        .tar("folder with content", .invalidContent, "has 7 bytes", "write(member(b'a/', kind=b'5') + END)"),
        .tar("link with content", .invalidContent, "has 7 bytes", "write(member(b'a', kind=b'2', link=b'b') + END)"),
        .tar("hard link", .invalidContent, "hard link", "write(member(b'a') + member(b'b', b'', kind=b'1', link=b'a') + END)"),
        .tar("character device", .invalidContent, "link or a device", "write(member(b'a', b'', kind=b'3') + END)"),
        .tar("block device", .invalidContent, "link or a device", "write(member(b'a', b'', kind=b'4') + END)"),
        .tar("named pipe", .invalidContent, "link or a device", "write(member(b'a', b'', kind=b'6') + END)"),
        .tar("sparse file", .invalidContent, "sparse", "write(member(b'a', kind=b'S') + END)"),
        .tar("an unknown kind", .invalidContent, "unknown kind", "write(member(b'a', kind=b'Q') + END)"),
        .tar(
            "sparse file of GNU's newer form", .invalidContent, "sparse",
            "write(pax(record(b'GNU.sparse.major', b'1')) + member(b'a') + END)"),
        .tar(
            "extended header twice", .invalidContent, "second extended header",
            "write(pax(record(b'path', b'x')) + pax(record(b'mtime', b'1')) + member(b'a') + END)"),
        .tar(
            "extended header for nothing", .damagedContent, "ends after the extended header",
            "write(pax(record(b'path', b'x')) + END)"),
        .tar(
            "path twice in an extended header", .invalidContent, "path twice",
            "write(pax(record(b'path', b'x'), record(b'path', b'y')) + member(b'a') + END)"),
        .tar(
            "two long names", .invalidContent, "two names",
            "write(member(b'l', b'x\\0', kind=b'L') + pax(record(b'path', b'y')) + member(b'a') + END)"),
        .tar(
            "long name with a NUL inside", .invalidContent, "a NUL in it",
            "write(member(b'l', b'x\\0y\\0', kind=b'L') + member(b'a') + END)"),
        .tar(
            "extended path with a NUL", .invalidContent, "a NUL in it",
            "write(pax(record(b'path', b'x\\0y')) + member(b'a') + END)"),
        .tar(
            "extended path that leaves", .invalidContent, "unsafe",
            "write(pax(record(b'path', b'media/../../evil')) + member(b'a') + END)"),
        .tar("empty extended path", .invalidContent, "empty path", "write(pax(record(b'path', b'')) + member(b'a') + END)"),
        .tar("malformed extended header", .invalidContent, "malformed", "write(pax(b'99 path=x\\n') + member(b'a') + END)"),
        .tar(
            "extended size that is none", .invalidContent, "a size that is none",
            "write(pax(record(b'size', b'-1')) + member(b'a') + END)"),
        .tar(
            "extended size beyond the end", .damagedContent, "cut off",
            "write(pax(record(b'size', b'9223372036854775807')) + member(b'a') + END)"),
        .tar(
            "extended time that is none", .invalidContent, "a time that is none",
            "write(pax(record(b'mtime', b'now')) + member(b'a') + END)"),
        .tar(
            "one name for all", .invalidContent, "path for all entries",
            "write(pax(record(b'path', b'x'), kind=b'g') + member(b'a') + END)"),
        .tar(
            "a character set of its own", .invalidContent, "character set",
            "write(pax(record(b'hdrcharset', b'EBCDIC')) + member(b'a') + END)"),
        .tar(
            "an extended header of 2 MiB", .tooLarge, "extended header",
            "write(member(b'p', b'x' * (2 << 20), kind=b'x') + member(b'a') + END)"),
        .tar(
            "name of 5,000 bytes", .tooLarge, "too long",
            "write(pax(record(b'path', b'/'.join([b'n' * 99] * 50))) + member(b'a') + END)"),
    ]
}
