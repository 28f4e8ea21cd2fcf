#!/usr/bin/env python3
"""Lists every file of every snapshot that cannot be read whole, as Docs/reference/repository-format.md has it; shares no code with backupfs.

    hurt_files.py REPOSITORY        prints SNAPSHOT/PATH for each file, SNAPSHOT/PATH/ for each folder of which nothing can be read
"""
import os
import sys

source = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_repository.py")).read()
exec(source.rsplit("\nif __name__", 1)[0])


class Tolerant(Repository):
    def __init__(self, path):
        self.path, self.stored, self.lists = path, {}, set()
        for folder, _, names in sorted(os.walk(os.path.join(path, "packs"))):
            for name in sorted(names):
                try:
                    entries = list(read_pack(os.path.join(folder, name)))
                except Exception:
                    continue
                for entry in entries:
                    self.stored.setdefault(entry[0], []).append(entry)

    def chunk(self, name):
        for entry in self.stored.get(name, []):
            try:
                one = Repository.__new__(Repository)
                one.stored = {name: entry}
                if entry[6]:
                    base = self.stored[entry[6]]
                    one.stored[entry[6]] = next(e for e in base if e[1] != 2)
                return one.chunk(name)
            except Exception:
                continue
        raise KeyError(name)

    def hurt(self, directory, prefix, out):
        reader = Reader(directory)
        reader.header(b"BFSD", (1, 2, 3))
        for _ in range(reader.number("I")):
            kind, flags = reader.number("B"), reader.number("B")
            name = reader.raw(reader.number("B"))
            reader.raw(4 + 12)
            if flags & 1:
                reader.raw(4 + 16 + 20 + 32)
            if flags & 64:
                reader.raw(4)
            if flags & 2:
                reader.raw(8 + 12)
            self.metadata(reader, flags, kind)
            if kind == 2:
                reader.raw(56)
            start = reader.position
            try:
                content = self.content(reader)
            except Exception:
                reader.position = start
                self.skip(reader)
                out.append(prefix + name + (b"/" if kind == 2 else b""))
                continue
            if kind == 2:
                self.hurt(content, prefix + name + b"/", out)

    def skip(self, reader):
        for _ in range(reader.number("I")):
            tag = reader.number("B")
            if tag == 0:
                reader.prefixed()
            else:
                reader.raw(32 + (4 if tag == 1 else 8))

    def all(self):
        out = []
        for file in sorted(os.listdir(os.path.join(self.path, "snapshots"))):
            data = open(os.path.join(self.path, "snapshots", file), "rb").read()
            if hashlib.sha256(data).hexdigest() + ".snapshot" != file:
                continue
            reader = Reader(data)
            reader.header(b"bfssnap\n")
            reader.raw(1 + 16)
            name = reader.prefixed()
            reader.raw(12)
            if reader.number("B") == 1:
                reader.raw(32)
            reader.raw(56)
            try:
                root = self.content(reader)
            except Exception:
                out.append(name + b"/")
                continue
            self.hurt(root, name + b"/", out)
        return out


for path in sorted(Tolerant(sys.argv[1]).all()):
    sys.stdout.buffer.write(path + b"\n")
