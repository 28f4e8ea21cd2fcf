#!/usr/bin/env python3
"""Reads a repository as Docs/reference/repository-format.md describes it, sharing no code with backupfs.

    read_repository.py packs REPOSITORY              checks every chunk of every pack; one line each
    read_repository.py restore REPOSITORY NAME OUT   writes a snapshot's tree to the new folder OUT, checking all checksums
    read_repository.py metadata REPOSITORY NAME      what a snapshot keeps of its files beside their bytes; one line of JSON each
    read_repository.py read REPOSITORY NAME OUT      both in one run
    read_repository.py label REPOSITORY ID           flags and name of a snapshot's label
    read_repository.py keys REPOSITORY               the keys of an encrypted repository and what it cuts with
    read_repository.py cut FILE MIN AVERAGE MAX SEED prints the lengths of the content-defined chunks of a file

The password of an encrypted repository is the first line of the file that BACKUPFS_PASSWORD_FILE names.
"""
import hashlib
import hmac
import json
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

    def header(self, magic, versions=(1,)):
        assert self.raw(len(magic)) == magic, "wrong magic"
        version = self.number("H")
        assert version in versions and self.number("H") == 0, "wrong version"
        return version

    def at_end(self):
        return self.position == len(self.data)


class Keys:
    """Names and opens what is in an encrypted repository."""

    def __init__(self, path, repository, password):
        data = open(os.path.join(path, "key"), "rb").read()
        lines = data.decode().split("\n")
        assert [line.split(": ")[0] for line in lines] == [
            "backupfs-key", "format", "repository", "scrypt", "salt", "wrapped", "sha256", ""]
        _, version, owner, cost, salt, wrapped, checksum, _ = [line.split(": ")[-1] for line in lines]
        assert version == "1" and owner == repository
        assert hashlib.sha256(data[:data.index(b"sha256: ")]).hexdigest() == checksum
        cost, block, parallel = map(int, cost.split(" "))
        key = hashlib.scrypt(password, salt=bytes.fromhex(salt), n=2**cost, r=block, p=parallel, dklen=32, maxmem=2**31 - 1)
        self.master = self.open(key, bytes.fromhex(wrapped), data[:data.index(b"wrapped: ")])
        root = hmac.digest(bytes.fromhex(repository), self.master, "sha256")
        self.chunks, self.structures, self.names, self.catalog, seed = [
            hmac.digest(root, b"backupfs " + purpose + b"\1", "sha256")
            for purpose in (b"chunks", b"structures", b"names", b"catalog", b"gear seed")]
        self.gear_seed = struct.unpack("<Q", seed[:8])[0]

    @staticmethod
    def open(key, sealed, associated_data):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        return AESGCM(key).decrypt(sealed[:12], sealed[12:], associated_data)

    def open_file(self, data, associated_data):
        assert data[:8] == b"bfsseal\n", "not sealed"
        return self.open(self.structures, data[8:], associated_data)

    def open_chunk(self, sealed, name, codec, stored_length, plain_length, base):
        bound = name + struct.pack("<BII", codec, stored_length, plain_length) + (base or b"")
        return self.open(hmac.digest(self.chunks, name, "sha256"), sealed, bound)


def read_pack(path, keys=None):
    """Yields (id, codec, stored bytes, plain length, plain CRC, stored CRC, base or None)."""
    data = open(path, "rb").read()
    assert data[:8] == b"bfspack\n" and data[8:10] == b"\1\0" and data[11:16] == (b"\1" if keys else b"\0") + bytes(4)
    chunk_bytes, index_length, footer_crc = struct.unpack("<QII", data[-24:-8])
    assert data[-8:] == b"bfsindex" and zlib.crc32(data[-24:-12]) == footer_crc
    assert 16 + chunk_bytes + index_length + 24 == len(data)
    index = data[16 + chunk_bytes:-24]
    assert hashlib.sha256(index).hexdigest() + ".pack" == os.path.basename(path)
    assert os.path.basename(os.path.dirname(path)) == os.path.basename(path)[:2]
    if keys:
        index = keys.open(keys.structures, index, b"backupfs pack index" + data[:16])
    assert index[0] == data[10] and index[1:4] == bytes(3)
    reader = Reader(index)
    reader.raw(4)
    offset = 16
    for _ in range(reader.number("I")):
        name, codec = reader.raw(32), reader.number("B")
        stored_length, plain_length, plain_crc, stored_crc = struct.unpack("<IIII", reader.raw(16))
        base = reader.raw(32) if codec in (2, 3) else None
        packed_length = stored_length + (28 if keys else 0)
        stored = data[offset:offset + packed_length]
        if keys:
            stored = keys.open_chunk(stored, name, codec, stored_length, plain_length, base)
        assert len(stored) == stored_length
        yield name, codec, stored, plain_length, plain_crc, stored_crc, base
        offset += packed_length
    assert reader.at_end() and offset == 16 + chunk_bytes


def middle(stored, base, length):
    """The plain bytes of a chunk that has its beginning and its end from its base."""
    start, end = struct.unpack("<HH", stored[:4])
    assert start + end <= min(length, len(base))
    result = b""
    if start + end < length:
        expander = zlib.decompressobj(-15, zdict=base[start:len(base) - end][-32768:])
        result = expander.decompress(stored[4:])
        assert expander.eof and not expander.unused_data
    else:
        assert len(stored) == 4
    return base[:start] + result + base[len(base) - end:]


class Repository:
    keys = None

    def __init__(self, path):
        self.path, self.stored = path, {}
        config = dict(line.split(": ") for line in open(os.path.join(path, "config")).read().split("\n")[1:-1])
        assert config["format"] == "1" and ("encryption" in config) != ("gear-seed" in config)
        if "encryption" in config:
            assert config["encryption"] == "aes-256-gcm"
            password = open(os.environ["BACKUPFS_PASSWORD_FILE"], "rb").readline().rstrip(b"\r\n")
            self.keys = Keys(path, config["id"], password)
        for folder, _, names in sorted(os.walk(os.path.join(path, "packs"))):
            for name in sorted(names):
                for entry in read_pack(os.path.join(folder, name), self.keys):
                    self.stored[entry[0]] = entry

    def chunk(self, name):
        _, codec, stored, plain_length, plain_crc, stored_crc, base = self.stored[name]
        assert zlib.crc32(stored) == stored_crc
        if codec == 0:
            plain = stored
        elif codec == 3:
            plain = middle(stored, self.chunk(base), plain_length)
        else:
            assert codec in (1, 2) and (base is None) == (codec == 1)
            expander = zlib.decompressobj(-15, zdict=self.chunk(base)[-32768:]) if base else zlib.decompressobj(-15)
            # The two bytes make a whole stream of a segment.
            plain = expander.decompress(stored + b"\3\0")
            assert expander.eof and not expander.unused_data
        assert len(plain) == plain_length and zlib.crc32(plain) == plain_crc
        assert (hmac.digest(self.keys.names, plain, "sha256") if self.keys else hashlib.sha256(plain).digest()) == name
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
            if self.keys:
                data = self.keys.open_file(data, b"backupfs snapshot record")
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

    def label(self, snapshot):
        """(flags, name) of a snapshot's label; its ID in hexadecimal digits."""
        data = open(os.path.join(self.path, "labels", snapshot + ".label"), "rb").read()
        if self.keys:
            data = self.keys.open_file(data, b"backupfs snapshot label" + bytes.fromhex(snapshot))
        assert struct.unpack("<I", data[-4:])[0] == zlib.crc32(data[:-4])
        reader = Reader(data)
        assert reader.raw(8) == b"bfslabl\n"
        reader.raw(4)
        assert reader.raw(32).hex() == snapshot
        return reader.number("B"), reader.prefixed()

    def entries(self, directory):
        """Yields (kind, name, checksums or None, metadata, content) of a directory object."""
        reader = Reader(directory)
        version = reader.header(b"BFSD", (1, 2, 3))
        before, has_metadata, is_derived = b"", False, False
        for _ in range(reader.number("I")):
            kind, flags = reader.number("B"), reader.number("B")
            assert flags & ~(0, 3, 63, 127)[version] == 0 and flags & 65 != 65
            name = reader.raw(reader.number("B"))
            assert name > before
            before = name
            reader.raw(4 + 12)
            checksums = (reader.number("I"), reader.raw(16), reader.raw(20), reader.raw(32)) if flags & 1 else None
            if flags & 64:
                checksums = (reader.number("I"),)
                is_derived = True
            if flags & 2:
                reader.raw(8 + 12)
            metadata = self.metadata(reader, flags, kind)
            has_metadata = has_metadata or bool(metadata)
            if kind == 2:
                reader.raw(56)
            yield kind, name, checksums, metadata, self.content(reader)
        assert reader.at_end() and version == (3 if is_derived else 2 if has_metadata else 1)

    @staticmethod
    def metadata(reader, flags, kind):
        result = {}
        if flags & 4:
            result["owner"] = [reader.number("I"), reader.number("I")]
        if flags & 8:
            result["link"] = [reader.number("Q"), reader.number("Q")]
        if flags & 16:
            result["holes"] = reader.number("Q")
        if flags & 32:
            pairs = [(reader.raw(reader.number("B")), reader.prefixed()) for _ in range(reader.number("H"))]
            assert pairs and sorted(dict(pairs).items()) == pairs
            result["attributes"] = {name.decode(): value.hex() for name, value in pairs}
        assert kind == 1 or not flags & 24
        return result

    def restore(self, directory, out):
        os.mkdir(out)
        for kind, name, checksums, _, content in self.entries(directory):
            path = os.path.join(out, name)
            if kind == 1:
                sums = (zlib.crc32(content), hashlib.md5(content).digest(), hashlib.sha1(content).digest(),
                        hashlib.sha256(content).digest())
                assert checksums == sums[:len(checksums)]
                open(path, "wb").write(content)
            elif kind == 2:
                self.restore(content, path)
            else:
                assert kind == 3
                os.symlink(content, path)

    def print_metadata(self, directory, folder=b""):
        for kind, name, _, metadata, content in self.entries(directory):
            if metadata:
                print(json.dumps({"path": os.fsdecode(folder + name), **metadata}, sort_keys=True))
            if kind == 2:
                self.print_metadata(content, folder + name + b"/")


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
    elif sys.argv[1] in ("restore", "metadata", "read"):
        repository = Repository(sys.argv[2])
        directory, _ = repository.snapshot(os.fsencode(sys.argv[3]))
        if sys.argv[1] != "metadata":
            repository.restore(directory, os.fsencode(sys.argv[4]))
        if sys.argv[1] != "restore":
            repository.print_metadata(directory)
    elif sys.argv[1] == "label":
        flags, name = Repository(sys.argv[2]).label(sys.argv[3])
        print(flags, name.decode())
    elif sys.argv[1] == "keys":
        keys = Repository(sys.argv[2]).keys
        for purpose in "master", "chunks", "structures", "names", "catalog":
            print(purpose, getattr(keys, purpose).hex())
        print("gear-seed", "%016x" % keys.gear_seed)
    else:
        print(*cut(open(sys.argv[2], "rb").read(), *map(int, sys.argv[3:6]), int(sys.argv[6], 16)))


if __name__ == "__main__":
    main()
