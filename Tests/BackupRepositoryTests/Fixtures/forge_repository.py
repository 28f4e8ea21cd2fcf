#!/usr/bin/env python3
"""Makes of a backup in a plain repository what another version of backupfs might have written, sharing no code with it.

    forge_repository.py WHAT REPOSITORY NAME    NAME is what the backup was called when it was made

WHAT is one of the keys of FORGERIES.
"""
import hashlib
import os
import struct
import sys
import zlib

from read_repository import Reader, Repository

LATER = 9


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


class Forger:
    def __init__(self, path, name):
        self.path = os.path.abspath(path)
        for file in os.listdir(os.path.join(path, "snapshots")):
            data = open(os.path.join(path, "snapshots", file), "rb").read()
            reader = Reader(data)
            reader.raw(12 + 1 + 16)
            if reader.prefixed() == name:
                self.id, self.record, self.after_name = bytes.fromhex(file[:64]), bytearray(data), reader.position
                return
        raise KeyError(name)

    def content_offset(self):
        """Where the content of the root's directory object begins in the record."""
        reader = Reader(bytes(self.record))
        reader.raw(self.after_name + 12)
        if reader.number("B"):
            reader.raw(32)
        reader.raw(56)
        return reader.position

    def replace_record(self, data):
        """Writes the record under its new name, in which the register and the label follow."""
        new = hashlib.sha256(data).digest()
        write(os.path.join(self.path, "snapshots", new.hex() + ".snapshot"), bytes(data))
        os.unlink(os.path.join(self.path, "snapshots", self.id.hex() + ".snapshot"))
        register = open(os.path.join(self.path, "register"), "rb").read()
        entries = [register[16 + 33 * n:49 + 33 * n] for n in range(struct.unpack("<I", register[12:16])[0])]
        entries = sorted((new if entry[:32] == self.id else entry[:32]) + entry[32:] for entry in entries)
        self.write_checked("register", register[:16] + b"".join(entries))
        label = self.label_path()
        if os.path.exists(label):
            data = open(label, "rb").read()
            os.unlink(label)
            self.id = new
            self.write_checked(self.label_path(), data[:12] + new + data[44:-4])
        self.id, self.record = new, bytearray(data)

    def write_checked(self, name, data):
        write(os.path.join(self.path, name), data + struct.pack("<I", zlib.crc32(data)))

    def label_path(self):
        return os.path.join(self.path, "labels", self.id.hex() + ".label")

    def change_label(self, offset, value):
        data = bytearray(open(self.label_path(), "rb").read()[:-4])
        data[offset] |= value
        self.write_checked(self.label_path(), bytes(data))

    def root(self):
        return Repository(self.path).content(Reader(bytes(self.record[self.content_offset():])))

    def first_checksum(self):
        return 12 + 3 + self.root()[14] + 4 + 12

    def replace_root(self, directory):
        """Puts a directory object of at least 65 bytes, as one chunk in a pack of its own, in the place of the root's."""
        content = self.store(directory)
        start = self.content_offset()
        reader = Reader(bytes(self.record[start:]))
        for _ in range(reader.number("I")):
            tag = reader.number("B")
            reader.prefixed() if tag == 0 else reader.raw(36 if tag == 1 else 40)
        self.replace_record(self.record[:start] + content + self.record[start + reader.position:])

    def add_link(self, content):
        """Puts a symbolic link with this content behind the root's other entries."""
        root = self.root()
        link = struct.pack("<BBB", 3, 0, 4) + b"zzzz" + struct.pack("<IqI", 0o120777, 5, 0) + content
        links = self.content_offset() - 56 + 16
        self.record[links:links + 8] = struct.pack("<Q", struct.unpack("<Q", self.record[links:links + 8])[0] + 1)
        self.replace_root(root[:8] + struct.pack("<I", struct.unpack("<I", root[8:12])[0] + 1) + root[12:] + link)

    def store(self, structure):
        """Writes a pack with one chunk, and returns the content that names it."""
        name = hashlib.sha256(structure).digest()
        crc = zlib.crc32(structure)
        entry = name + struct.pack("<BIIII", 0, len(structure), len(structure), crc, crc)
        self.write_pack(1, structure, b"\1" + bytes(3) + struct.pack("<I", 1) + entry)
        return struct.pack("<IB", 1, 1) + name + struct.pack("<I", len(structure))

    def without_metadata(self, repository, directory):
        """The directory object as programs wrote it that knew version 1 only. They read all files for their digests."""
        reader = Reader(directory)
        reader.header(b"BFSD", (1, 2, 3))
        count = reader.number("I")
        result = b"BFSD" + struct.pack("<HHI", 1, 0, count)
        for _ in range(count):
            kind, flags = reader.number("B"), reader.number("B")
            length = reader.number("B")
            result += struct.pack("<BBB", kind, flags & 2 | (kind == 1), length) + reader.raw(length + 16)
            sums = reader.raw(72 if flags & 1 else 4 if flags & 64 else 0)
            identity = reader.raw(20 if flags & 2 else 0)
            repository.metadata(reader, flags, kind)
            totals = reader.raw(56 if kind == 2 else 0)
            start = reader.position
            content = repository.content(reader)
            if flags & 64:
                sums += hashlib.md5(content).digest() + hashlib.sha1(content).digest() + hashlib.sha256(content).digest()
            result += sums + identity + totals
            if kind == 2:
                result += self.store(self.without_metadata(repository, content))
            else:
                result += directory[start:reader.position]
        return result

    def forget_metadata(self):
        root = self.root()
        self.record = bytearray(bytes(self.record).replace(b"media-metadata", b"media-metadatX").replace(b"media-owner", b"media-ownex"))
        self.replace_root(self.without_metadata(Repository(self.path), root))

    def write_pack(self, kind, chunks, index, version=1):
        end = struct.pack("<QI", len(chunks), len(index))
        pack = hashlib.sha256(index).hexdigest()
        write(
            os.path.join(self.path, "packs", pack[:2], pack + ".pack"),
            b"bfspack\n" + struct.pack("<HBB", version, kind, 0) + bytes(4) + chunks + index + end
            + struct.pack("<I", zlib.crc32(end)) + b"bfsindex")

    def replace_pack(self, **changes):
        """Writes the pack that the root lies in once more, as another kind or version, and removes the old one."""
        root = bytes(self.record[self.content_offset() + 5:self.content_offset() + 37])
        for folder, _, files in os.walk(os.path.join(self.path, "packs")):
            for file in files:
                data = open(os.path.join(folder, file), "rb").read()
                length, index_length = struct.unpack("<QI", data[-24:-12])
                index = data[16 + length:16 + length + index_length]
                if root not in index:
                    continue
                os.unlink(os.path.join(folder, file))
                kind = changes.get("kind", index[0])
                index = bytes([kind]) + index[1:] + changes.get("more", b"")
                return self.write_pack(kind, data[16:16 + length], index, changes.get("version", 1))
        raise KeyError("no pack has the root")


def changed(data, offset, value):
    data = bytearray(data)
    data[offset] ^= value
    return bytes(data)


FORGERIES = {
    "record-version": lambda it: it.replace_record(changed(it.record, 8, 8)),
    "record-kind": lambda it: it.replace_record(changed(it.record, 12, LATER)),
    "element-kind": lambda it: it.replace_record(changed(it.record, it.content_offset() + 4, 8)),
    "directory-version": lambda it: it.replace_root(changed(it.root(), 4, 8)),
    "entry-kind": lambda it: it.replace_root(changed(it.root(), 12, 8)),
    "entry-flag": lambda it: it.replace_root(changed(it.root(), 13, 128)),
    "pack-kind": lambda it: it.replace_pack(kind=LATER),
    "pack-version": lambda it: it.replace_pack(version=LATER, more=b"later"),
    "label-version": lambda it: it.change_label(8, 8),
    # Of an older version, which keeps nothing of files beside their bytes.
    "without-metadata": lambda it: it.forget_metadata(),
    # Not of a later version, but of one that was wrong: the first byte of a checksum of the root's first file, changes.json.
    "crc32": lambda it: it.replace_root(changed(it.root(), it.first_checksum(), 255)),
    "md5": lambda it: it.replace_root(changed(it.root(), it.first_checksum() + 4, 255)),
    "sha1": lambda it: it.replace_root(changed(it.root(), it.first_checksum() + 20, 255)),
    "sha256": lambda it: it.replace_root(changed(it.root(), it.first_checksum() + 40, 255)),
    # Links that no writer makes: without a target, and with one that a system call would cut off.
    "link-without-target": lambda it: it.add_link(struct.pack("<I", 0)),
    "link-with-nul": lambda it: it.add_link(struct.pack("<IBI", 1, 0, 14) + b"p.jpg\0/etc/pass"[:14]),
    "label-flag": lambda it: it.change_label(44, 4),
}

if __name__ == "__main__":
    FORGERIES[sys.argv[1]](Forger(sys.argv[2], sys.argv[3].encode()))
