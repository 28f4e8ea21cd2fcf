#!/usr/bin/env python3
"""Reads a repository as Docs/repository-format.md describes it, sharing no code with backupfs.

    read_repository.py packs REPOSITORY              checks every chunk of every pack; one line each
    read_repository.py restore REPOSITORY NAME OUT   writes a snapshot's tree to the new folder OUT, checking all checksums
    read_repository.py cut FILE MIN AVERAGE MAX SEED prints the lengths of the content-defined chunks of a file
"""
import hashlib
import os
import struct
import sys
import zlib


class Reader:
    def __init__(self, data):
        self.data, self.position = data, 0

    def raw(self, count):
        assert self.position + count <= len(self.data), "structure is cut off"
        self.position += count
        return self.data[self.position - count:self.position]

    def number(self, code):
        return struct.unpack("<" + code, self.raw(struct.calcsize("<" + code)))[0]

    def prefixed(self):
        return self.raw(self.number("I"))

    def header(self, magic):
        assert self.raw(len(magic)) == magic, "wrong magic"
        assert (self.number("H"), self.number("H")) == (1, 0), "wrong version"

    def at_end(self):
        return self.position == len(self.data)


def read_pack(path):
    """Yields (id, codec, stored bytes, plain length, plain CRC, stored CRC, base or None)."""
    data = open(path, "rb").read()
    assert data[:8] == b"bfspack\n" and data[8:10] == b"\1\0" and data[11:16] == bytes(5)
    chunk_bytes, index_length, footer_crc = struct.unpack("<QII", data[-24:-8])
    assert data[-8:] == b"bfsindex" and zlib.crc32(data[-24:-12]) == footer_crc
    assert 16 + chunk_bytes + index_length + 24 == len(data)
    index = data[16 + chunk_bytes:-24]
    assert hashlib.sha256(index).hexdigest() + ".pack" == os.path.basename(path)
    assert os.path.basename(os.path.dirname(path)) == os.path.basename(path)[:2]
    assert index[0] == data[10] and index[1:4] == bytes(3)
    reader = Reader(index)
    reader.raw(4)
    offset = 16
    for _ in range(reader.number("I")):
        name, codec = reader.raw(32), reader.number("B")
        stored_length, plain_length, plain_crc, stored_crc = struct.unpack("<IIII", reader.raw(16))
        base = reader.raw(32) if codec == 2 else None
        yield name, codec, data[offset:offset + stored_length], plain_length, plain_crc, stored_crc, base
        offset += stored_length
    assert reader.at_end() and offset == 16 + chunk_bytes


class Repository:
    def __init__(self, path):
        self.path, self.stored = path, {}
        for folder, _, names in sorted(os.walk(os.path.join(path, "packs"))):
            for name in sorted(names):
                for entry in read_pack(os.path.join(folder, name)):
                    self.stored[entry[0]] = entry

    def chunk(self, name):
        _, codec, stored, plain_length, plain_crc, stored_crc, base = self.stored[name]
        assert zlib.crc32(stored) == stored_crc
        if codec == 0:
            plain = stored
        else:
            expander = zlib.decompressobj(-15, zdict=self.chunk(base)[-32768:]) if base else zlib.decompressobj(-15)
            # The two bytes make a whole stream of a segment.
            plain = expander.decompress(stored + b"\3\0")
            assert expander.eof and not expander.unused_data
        assert len(plain) == plain_length and zlib.crc32(plain) == plain_crc
        assert hashlib.sha256(plain).digest() == name
        return plain

    def content(self, reader):
        result = []
        for _ in range(reader.number("I")):
            tag = reader.number("B")
            if tag == 0:
                result.append(reader.prefixed())
            elif tag == 1:
                name, length = reader.raw(32), reader.number("I")
                result.append(self.chunk(name))
                assert len(result[-1]) == length
            else:
                assert tag == 2
                name, length = reader.raw(32), reader.number("Q")
                inner = Reader(self.chunk(name))
                inner.header(b"BFSL")
                result.append(self.content(inner))
                assert inner.at_end() and len(result[-1]) == length
        return b"".join(result)

    def snapshot(self, name):
        """(directory object, totals) of the root."""
        for file in os.listdir(os.path.join(self.path, "snapshots")):
            data = open(os.path.join(self.path, "snapshots", file), "rb").read()
            assert hashlib.sha256(data).hexdigest() + ".snapshot" == file
            reader = Reader(data)
            reader.header(b"bfssnap\n")
            reader.raw(1 + 16)
            if reader.prefixed() != name:
                continue
            reader.raw(12)
            if reader.number("B") == 1:
                reader.raw(32)
            totals = struct.unpack("<7Q", reader.raw(56))
            return self.content(reader), totals
        raise KeyError(name)

    def restore(self, directory, out):
        os.mkdir(out)
        reader = Reader(directory)
        reader.header(b"BFSD")
        before = b""
        for _ in range(reader.number("I")):
            kind, flags = reader.number("B"), reader.number("B")
            name = reader.raw(reader.number("B"))
            assert name > before
            before = name
            reader.raw(4 + 12)
            if flags & 1:
                crc, md5, sha1, sha256 = reader.number("I"), reader.raw(16), reader.raw(20), reader.raw(32)
            if flags & 2:
                reader.raw(8 + 12)
            if kind == 2:
                reader.raw(56)
            content = self.content(reader)
            path = os.path.join(out, name)
            if kind == 1:
                assert zlib.crc32(content) == crc and hashlib.md5(content).digest() == md5
                assert hashlib.sha1(content).digest() == sha1 and hashlib.sha256(content).digest() == sha256
                open(path, "wb").write(content)
            elif kind == 2:
                self.restore(content, path)
            else:
                assert kind == 3
                os.symlink(content, path)
        assert reader.at_end()


def gear_table(seed):
    mask, table = (1 << 64) - 1, []
    for _ in range(256):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        number = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & mask
        number = ((number ^ number >> 27) * 0x94D049BB133111EB) & mask
        table.append(number ^ number >> 31)
    return table


def cut(data, minimum, average, maximum, seed):
    table, bits, lengths, start = gear_table(seed), average.bit_length() - 1, [], 0
    while start < len(data):
        end, value = min(start + minimum, len(data)), 0
        while end < min(start + maximum, len(data)):
            value = (value * 2 + table[data[end]]) % 2**64
            end += 1
            needed = bits + 2 if end - start <= average else bits - 2
            if value >> (64 - needed) == 0:
                break
        lengths.append(end - start)
        start = end
    return lengths


def main():
    if sys.argv[1] == "packs":
        repository = Repository(sys.argv[2])
        for name, entry in sorted(repository.stored.items()):
            repository.chunk(name)
            print(name.hex(), entry[1], entry[3])
    elif sys.argv[1] == "restore":
        repository = Repository(sys.argv[2])
        directory, _ = repository.snapshot(os.fsencode(sys.argv[3]))
        repository.restore(directory, os.fsencode(sys.argv[4]))
    else:
        print(*cut(open(sys.argv[2], "rb").read(), *map(int, sys.argv[3:6]), int(sys.argv[6], 16)))


main()
