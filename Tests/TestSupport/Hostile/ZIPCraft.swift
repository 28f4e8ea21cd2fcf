/// Archives that no honest program writes: a small Python writer in which every field can be given a wrong value.
public enum ZIPCraft {
    public static let prelude = """
        import struct, zlib

        def deflate(data):
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            return packer.compress(data) + packer.flush()

        class E:
            # "l_x" sets a field of the local header only, "c_x" one of the central header only.
            def __init__(self, name, data=b"content", method=0, flags=0, attr=0o100644 << 16, host=3, extra=b"", raw=None,
                         descriptor=None, before=b"", comment=b"", disk=0, **given):
                self.__dict__.update(name=name, method=method, flags=flags, attr=attr, host=host, extra=extra,
                                     descriptor=descriptor, before=before, comment=comment, disk=disk, given=given)
                self.raw = raw if raw is not None else deflate(data) if method == 8 else data
                self.base = dict(name=name, method=method, flags=flags, crc=zlib.crc32(data), csize=len(self.raw),
                                 usize=len(data), extra=extra)

            def fields(self, kind):
                values = dict(self.base)
                values.update({k[2:]: v for k, v in self.given.items() if k.startswith(kind + "_")})
                return values

            def local(self):
                f = self.fields("l")
                return struct.pack("<4s5H3I2H", b"PK\\x03\\x04", 20, f["flags"], f["method"], 0x6000, 0x5C2B, f["crc"], f["csize"],
                                   f["usize"], len(f["name"]), len(f["extra"])) + f["name"] + f["extra"]

            def central(self, offset):
                f = self.fields("c")
                offset = f.get("offset", offset)
                return struct.pack("<4s6H3I5H2I", b"PK\\x01\\x02", self.host << 8 | 30, 20, f["flags"], f["method"], 0x6000, 0x5C2B,
                                   f["crc"], f["csize"], f["usize"], len(f["name"]), len(f["extra"]), len(self.comment), self.disk,
                                   0, self.attr, offset) + f["name"] + f["extra"] + self.comment

        def end(count, size, offset, comment=b"", disk=0, here=None, length=None):
            return struct.pack("<4s4H2IH", b"PK\\x05\\x06", disk, disk, count if here is None else here, count, size, offset,
                               len(comment) if length is None else length) + comment

        def end64(count, size, offset, position, length=44, disk=0, locator=None):
            record = struct.pack("<4sQ2H2I4Q", b"PK\\x06\\x06", length, 45, 45, disk, disk, count, count, size, offset)
            return record + struct.pack("<4sIQI", b"PK\\x06\\x07", 0, position if locator is None else locator, 1)

        def body(entries):
            data, central = b"", b""
            for e in entries:
                data += e.before
                central += e.central(len(data))
                data += e.local() + e.raw
                if e.descriptor is not None: data += e.descriptor
            return data, central

        def archive(*entries, after=b"", count=None, **given):
            data, central = body(entries)
            data += after
            values = dict(count=len(entries) if count is None else count, size=len(central), offset=len(data))
            values.update(given)
            return data + central + end(**values)

        def descriptor(data, raw=None):
            return struct.pack("<4s3I", b"PK\\x07\\x08", zlib.crc32(data), len(data if raw is None else raw), len(data))

        """

    /// Creates an archive with Python statements.
    /// - Parameter program: calls `write(…)`.
    public static func make(_ program: String, in folder: TemporaryFolder) throws -> String {
        try HostileInput.zip("", .invalidContent, "", program).make(in: folder)
    }
}
