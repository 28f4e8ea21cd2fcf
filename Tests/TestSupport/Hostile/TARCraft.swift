/// tar archives that no honest program writes: a small Python writer in which every field can be given a wrong value.
enum TARCraft {
    static let prelude = #"""
        import io, struct, tarfile

        END = bytes(1024)

        def octal(number, width): return b"%0*o" % (width - 1, number) + b"\0"

        def header(name, size=0, kind=b"0", mode=0o644, time=0, link=b"", magic=b"ustar\x0000", prefix=b"", total=None, **raw):
            fields = [name.ljust(100, b"\0")[:100], raw.get("rawmode", octal(mode, 8)), octal(0, 8), octal(0, 8),
                      raw.get("rawsize", octal(size, 12)), raw.get("rawtime", octal(time, 12)), b" " * 8, kind,
                      link.ljust(100, b"\0"), magic, bytes(64), octal(0, 8), octal(0, 8), prefix.ljust(155, b"\0"), bytes(12)]
            block = b"".join(fields)
            assert len(block) == 512, len(block)
            total = sum(block) if total is None else total
            return block[:148] + b"%06o\0 " % total + block[156:]

        def padded(data): return data + bytes(-len(data) % 512)

        def member(name, data=b"content", **given):
            return header(name, given.pop("size", len(data)), **given) + padded(data)

        def record(keyword, value):
            rest = len(keyword) + len(value) + 3
            length = rest + len(str(rest))
            length = rest + len(str(length))
            return b"%d %s=%s\n" % (length, keyword, value)

        def pax(*records, kind=b"x"):
            data = b"".join(records)
            return member(b"pax", data, kind=kind)

        """#
}
