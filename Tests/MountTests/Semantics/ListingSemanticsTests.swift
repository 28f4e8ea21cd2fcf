import TestSupport
import Testing

/// How folders are read, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ListingSemanticsTests {
    /// opendir(3) and its family, and getdents64(2) with a buffer of any size.
    private static let functions = #"""
        class Entry(ctypes.Structure):
            _fields_ = [("inode", ctypes.c_uint64), ("offset", ctypes.c_int64), ("length", ctypes.c_uint16), ("kind", ctypes.c_uint8),
                ("name", ctypes.c_char * 256)]
        libc.opendir.restype = ctypes.c_void_p
        libc.readdir.restype = ctypes.POINTER(Entry)
        libc.telldir.restype = ctypes.c_long
        for function, kinds in (("readdir", []), ("telldir", []), ("closedir", []), ("rewinddir", []), ("seekdir", [ctypes.c_long])):
            getattr(libc, function).argtypes = [ctypes.c_void_p, *kinds]

        def following(stream):
            entry = libc.readdir(stream)
            return entry.contents.name if entry else None

        def parts(folder, size):
            """Names and kinds of an open folder, a system call at a time."""
            buffer = ctypes.create_string_buffer(size)
            while count := call("getdents64", folder, buffer, ctypes.c_size_t(size)):
                place, names = 0, []
                while place < count:
                    _, _, length, kind = struct.unpack_from("=QqHB", buffer, place)
                    names.append((buffer.raw[place + 19:place + length].split(b"\0")[0].decode(), kind))
                    place += length
                yield names

        def listed(path, size=1024):
            return opened(os.O_RDONLY, lambda folder: sum(parts(folder, size), []))(path)

        """#

    @Test func `S14: a listing has . and .. and each name once, with its kind`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("ln -s one.jpg $P/link; \(AttributeSemanticsTests.fill)")
            let result = try sandbox.python(
                Self.functions + #"""
                    kinds = {stat.S_IFREG: 8, stat.S_IFDIR: 4, stat.S_IFLNK: 10}
                    folders = [".", *(path for path in everything() if os.path.isdir(path) and not os.path.islink(path))]
                    for folder in folders:
                        entries = listed(folder)
                        names = [name for name, _ in entries]
                        if entries[:2] != [(".", 4), ("..", 4)]: print("begins with", folder, entries[:2])
                        if len(set(names)) != len(names): print("repeats", folder)
                        for name, kind in entries[2:]:
                            if kinds[stat.S_IFMT(os.lstat(folder + "/" + name).st_mode)] != kind: print("kind", folder, name, kind)
                    print(len(folders) > 15, listed("snapshots")[2:], listed("live/media")[2:])
                    """#)
            #expect(
                result == "True [('one', 4), ('two', 4), ('latest', 10)] [('2024', 4), ('link', 10), ('one.jpg', 8)]")
        }
    }

    @Test func `S15: a folder that changes while it is read neither repeats nor skips`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                "for i in $(seq 1 40); do mkdir $M/snapshots/backup-with-a-name-of-some-length-$i; done; touch $P/{1..2000}.png")
            let result = try sandbox.python(
                Self.functions + #"""
                    photos = S + "/app/photos/"
                    def change_backups(turn):
                        if turn == 1: os.rmdir("snapshots/backup-with-a-name-of-some-length-40"); os.mkdir("snapshots/new")
                        if turn == 2: os.rename("snapshots/backup-with-a-name-of-some-length-39", "snapshots/a")
                    def change_photos(turn):
                        if turn < 40: os.unlink(f"{photos}{turn * 50}.png"); open(f"{photos}new-{turn}.png", "w").close()
                    for path, change in (("snapshots", change_backups), ("live/media", change_photos)):
                        before = set(os.listdir(path))
                        folder = os.open(path, os.O_RDONLY)
                        seen = []
                        for turn, names in enumerate(parts(folder, 512), 1):
                            seen += [name for name, _ in names if name not in (".", "..")]
                            change(turn)
                        now = set(os.listdir(path))
                        os.lseek(folder, 0, os.SEEK_SET)
                        again = {name for name, _ in sum(parts(folder, 512), [])} - {".", ".."}
                        print(len(seen) == len(set(seen)), set(seen) == before, now != before, again == now)
                        os.close(folder)
                    """#)
            #expect(result == "True True True True\nTrue True True True")
        }
    }

    @Test func `S16: seekdir goes back to where telldir was`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("touch $P/{1..3000}.png; mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.functions + #"""
                    chance = random.Random(16)
                    for path in ("live/media", "snapshots/one/media"):
                        stream = libc.opendir(path.encode())
                        places, names = [], []
                        while True:
                            places.append(libc.telldir(stream))
                            names.append(following(stream))
                            if names[-1] is None: break
                        if path.startswith("live"):
                            for number in range(1, 3000, 3): os.unlink(f"{S}/app/photos/{number}.png")
                        wrong = 0
                        for _ in range(500):
                            index = chance.randrange(1, len(places))
                            libc.seekdir(stream, places[index])
                            for step in range(min(3, len(names) - index)):
                                wrong += following(stream) != names[index + step]
                        libc.rewinddir(stream)
                        print(len(names), len(set(places)), wrong, following(stream))
                        libc.closedir(stream)
                    """#)
            #expect(result == "3005 3005 0 b'.'\n3005 3005 0 b'.'")
        }
    }

    @Test func `S17: a snapshot's folders are listed in the same order`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("touch $P/{z,b,a,B,10,9}.png; mkdir $M/snapshots/one")
            let script =
                Self.functions + #"""
                    name = [each for each in os.listdir("snapshots") if each != "latest"][0]
                    for folder in ("", "/data", "/media", "/media/2024"):
                        print([name for name, _ in listed("snapshots/" + name + folder, int(os.environ["SIZE"]))])
                    """#
            let before = try sandbox.python(script, ["SIZE": "65536"])
            #expect(before.contains("['.', '..', '10.png', '2024', '9.png', 'B.png', 'a.png', 'b.png', 'one.jpg', 'z.png']"))
            #expect(try sandbox.python(script, ["SIZE": "300"]) == before)
            try sandbox.sh("mv $M/snapshots/one $M/snapshots/two")
            try sandbox.remount()
            #expect(try sandbox.python(script, ["SIZE": "400"]) == before)
        }
    }
}
