#!/usr/bin/env python3
"""large_repository.py [--files N] [--snapshots N] [--chunks-per-file N] FOLDER: writes a plain repository of many files, snapshots and chunks, by what
Docs/reference/repository-format.md says and without the program: what backupfs would take days to back up is there in minutes, and takes little room, since each
chunk is 16 bytes. Files lie in folders of 100, and these in folders of 100. Each snapshot has a root of its own; each tenth has a changed folder.
"""

import argparse
import hashlib
import os
import pathlib
import struct
import zlib

CHUNK_SIZE_BYTES = 16
CHUNKS_IN_PACK = 65_536
PACK_SIZE_BYTES = 32 << 20
SOURCE = "0123456789abcdef0123456789abcdef"
FIRST_SECOND = 1_600_000_000
CONFIG = """backupfs-repository
format: 1
id: 00112233445566778899aabbccddeeff
chunker: fastcdc-gear64
gear-seed: 6261636b75706673
media: 262144 1048576 4194304
structured-text: 2048 8192 32768
metadata: 4096 16384 65536
database-piece: 16384
"""


class Packs:
    """Packs of one kind, closed when they are full."""

    def __init__(self, folder, kind):
        self.folder, self.kind, self.count, self.chunk_count = folder, kind, 0, 0
        self._reset()

    def _reset(self):
        self.data, self.entries, self.size = [], [], 0

    def add(self, stored, codec, plain, crc32):
        name = hashlib.sha256(plain).digest()
        stored_crc32 = crc32 if codec == 0 else zlib.crc32(stored)
        self.data.append(stored)
        self.entries.append(name + struct.pack("<BIIII", codec, len(stored), len(plain), crc32, stored_crc32))
        self.size += len(stored)
        self.chunk_count += 1
        if len(self.entries) >= CHUNKS_IN_PACK or self.size >= PACK_SIZE_BYTES:
            self.close()
        return name

    def add_raw(self, plain):
        return self.add(plain, 0, plain, zlib.crc32(plain))

    def add_compressed(self, plain):
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        stored = packer.compress(plain) + packer.flush(zlib.Z_FULL_FLUSH)
        return self.add(stored, 1, plain, zlib.crc32(plain))

    def close(self):
        if not self.entries:
            return
        index = struct.pack("<B3xI", self.kind, len(self.entries)) + b"".join(self.entries)
        end = struct.pack("<QI", self.size, len(index))
        name = hashlib.sha256(index).hexdigest()
        place = self.folder / name[:2]
        place.mkdir(mode=0o700, exist_ok=True)
        with open(place / f"{name}.pack", "wb") as file:
            file.write(b"bfspack\n" + struct.pack("<HBB4x", 1, self.kind, 0))
            file.write(b"".join(self.data))
            file.write(index + end + struct.pack("<I", zlib.crc32(end)) + b"bfsindex")
        self.count += 1
        self._reset()


def prefixed(data):
    return struct.pack("<I", len(data)) + data


def chunk_content(pieces):
    """A content of chunks, each a name and a length."""
    return struct.pack("<I", len(pieces)) + b"".join(b"\1" + name + struct.pack("<I", size) for name, size in pieces)


def file_entry(name, data, content):
    """A file with all its checksums."""
    sums = struct.pack("<I", zlib.crc32(data)) + hashlib.md5(data).digest() + hashlib.sha1(data).digest() + hashlib.sha256(data).digest()
    return struct.pack("<BBB", 1, 1, len(name)) + name + struct.pack("<IqI", 0o100600, FIRST_SECOND, 0) + sums + content


class Totals:
    """The seven sums of what is below a folder."""

    def __init__(self, files=0, folders=0, size=0, paths=0):
        self.files, self.folders, self.size, self.paths = files, folders, size, paths

    def add_folder(self, name, other):
        self.files += other.files
        self.folders += other.folders + 1
        self.size += other.size
        self.paths += other.paths + (len(name) + 1) * other.files

    def encode(self):
        return struct.pack("<7Q", self.files, self.folders, 0, self.size, self.paths, self.paths, 0)


def folder_entry(name, totals, content):
    return struct.pack("<BBB", 2, 0, len(name)) + name + struct.pack("<IqI", 0o40700, FIRST_SECOND, 0) + totals.encode() + content


def store_folder(packs, entries):
    """Stores a directory object in one chunk."""
    plain = b"BFSD" + struct.pack("<HHI", 1, 0, len(entries)) + b"".join(entries)
    return chunk_content([(packs.add_compressed(plain), len(plain))])


class Repository:
    def __init__(self, path, arguments):
        self.path, self.arguments = path, arguments
        for folder in ["packs", "snapshots", "labels", "tmp"]:
            (path / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.data, self.metadata = Packs(path / "packs", 0), Packs(path / "packs", 1)
        self.counter = 0

    def file(self, number):
        name = b"IMG_%07d.jpg" % number
        pieces, whole = [], []
        for _ in range(self.arguments.chunks_per_file):
            plain = struct.pack("<QQ", self.counter, number)
            self.counter += 1
            pieces.append((self.data.add_raw(plain), CHUNK_SIZE_BYTES))
            whole.append(plain)
        data = b"".join(whole)
        return file_entry(name, data, chunk_content(pieces)), len(data), len(name)

    def small_folder(self, first, count):
        totals, entries = Totals(), []
        for number in range(first, first + count):
            entry, size, name_length = self.file(number)
            entries.append(entry)
            totals.files += 1
            totals.size += size
            totals.paths += name_length
        return store_folder(self.metadata, entries), totals

    def group(self, folders):
        totals, entries = Totals(), []
        for name, (content, below) in folders:
            entries.append(folder_entry(name, below, content))
            totals.add_folder(name, below)
        return store_folder(self.metadata, entries), totals

    def media(self):
        """The media folder's groups of folders."""
        groups = []
        for first in range(0, self.arguments.files, 10_000):
            folders = []
            for start in range(first, min(first + 10_000, self.arguments.files), 100):
                count = min(100, self.arguments.files - start)
                folders.append((b"%05d" % (start // 100), self.small_folder(start, count)))
            groups.append((b"%03d" % (first // 10_000), folders))
        return groups

    def write(self):
        groups = self.media()
        stored = [(name, self.group(folders)) for name, folders in groups]
        media = self.group(stored)
        for number in range(self.arguments.snapshots):
            if number % 10 == 9:
                which = number // 10 % len(groups)
                folders = groups[which][1]
                place = number // 10 // len(groups) % len(folders)
                folders[place] = (folders[place][0], self.small_folder(place * 100, 100))
                stored[which] = (groups[which][0], self.group(folders))
                media = self.group(stored)
            self.snapshot(number, media)
        self.data.close()
        self.metadata.close()
        (self.path / "config").write_text(CONFIG)
        os.chmod(self.path / "config", 0o600)

    def snapshot(self, number, media):
        notes = b'{"snapshot": %d}\n' % number
        literal = struct.pack("<I", 1) + b"\0" + prefixed(notes)
        content, below = media
        totals = Totals(1, 0, len(notes), len(b"manifest.json"))
        totals.add_folder(b"media", below)
        root = store_folder(self.metadata, [file_entry(b"manifest.json", notes, literal), folder_entry(b"media", below, content)])
        attributes = {"app": "photo-library", "source": SOURCE, "sequence": str(number + 1)}
        pairs = b"".join(prefixed(key.encode()) + prefixed(value.encode()) for key, value in sorted(attributes.items()))
        record = b"bfssnap\n" + struct.pack("<HHB", 1, 0, 0) + hashlib.md5(b"%d" % number).digest()
        record += prefixed(b"s%05d" % number) + struct.pack("<qI", FIRST_SECOND + number * 3600, 0) + b"\0" + totals.encode() + root
        record += struct.pack("<QI", 0, 0) + struct.pack("<I", len(attributes)) + pairs
        name = hashlib.sha256(record).hexdigest()
        (self.path / "snapshots" / f"{name}.snapshot").write_bytes(record)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--snapshots", type=int, default=10_000)
    parser.add_argument("--chunks-per-file", type=int, default=10)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    os.umask(0o077)
    repository = Repository(arguments.folder, arguments)
    repository.write()
    chunks = repository.data.chunk_count + repository.metadata.chunk_count
    print(f"{arguments.files} files, {arguments.snapshots} snapshots, {chunks} chunks in {repository.data.count + repository.metadata.count} packs")


if __name__ == "__main__":
    main()
