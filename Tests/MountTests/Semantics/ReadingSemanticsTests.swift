import TestSupport
import Testing

/// How files are read, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ReadingSemanticsTests {
    private static let files = #"""
        files = [folder + name for folder in ("snapshots/one/", "live/")
            for name in ("export.json", "archive.zip", "archive.tar", "database.sqlite", "SHA256SUMS", "media/2024/summer/three.jpg")]

        """#

    @Test func `S18: any range of bytes is that part of the file`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.files + #"""
                    chance = random.Random(18)
                    count = 0
                    for path in files:
                        whole = read(path)
                        file = os.open(path, os.O_RDONLY)
                        for _ in range(250):
                            start = chance.choice([chance.randrange(len(whole) + 1), len(whole) - chance.randrange(min(20, len(whole)))])
                            length = chance.choice([1, 7, 512, 4096, 4097, 100_000, 3_000_000, chance.randrange(1, len(whole) + 10)])
                            if os.pread(file, length, start) != whole[start:start + length]: print("differs", path, start, length)
                            count += 1
                        for start in (len(whole), len(whole) + 1, len(whole) + 5000, 1 << 40, (1 << 63) - 10):
                            if os.pread(file, 5, start) != b"": print("beyond", path, start)
                        os.close(file)
                    print(count)
                    """#)
            #expect(result == "3000")
        }
    }

    @Test func `S19: many read one file at once`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.files + #"""
                    whole = {path: read(path) for path in files}
                    shared = {path: os.open(path, os.O_RDONLY) for path in files}
                    wrong = []
                    def reader(seed):
                        chance = random.Random(seed)
                        for _ in range(150):
                            path = chance.choice(files)
                            start = chance.randrange(len(whole[path]))
                            length = chance.choice([10, 5000, 200_000])
                            if os.pread(shared[path], length, start) != whole[path][start:start + length]: wrong.append((path, start, length))
                    threads = [threading.Thread(target=reader, args=(seed,)) for seed in range(6)]
                    for thread in threads: thread.start()
                    others = [subprocess.Popen(["sha256sum", *files], stdout=subprocess.PIPE) for _ in range(4)]
                    sums = {other.communicate()[0] for other in others}
                    for thread in threads: thread.join()
                    expected = "".join(f"{hashlib.sha256(whole[path]).hexdigest()}  {path}\n" for path in files)
                    print(wrong, sums == {expected.encode()})
                    """#)
            #expect(result == "[] True")
        }
    }

    @Test func `S20: every way to read gives the same bytes`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.files + #"""
                    def sent(file, size):
                        with open(R + "/sent", "wb+") as target:
                            while os.sendfile(target.fileno(), file, target.tell(), 1 << 20): target.seek(0, os.SEEK_END)
                            target.seek(0)
                            return target.read()
                    def spliced(file, size):
                        ends, parts = os.pipe(), []
                        while os.splice(file, ends[1], 65536): parts.append(os.read(ends[0], 65536))
                        for end in ends: os.close(end)
                        return b"".join(parts)
                    def mapped(file, size):
                        with mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ) as memory: return memory[:]
                    def direct(path, size):
                        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
                        memory = mmap.mmap(-1, 1 << 20)
                        parts = []
                        while count := os.readv(file, [memory]): parts.append(memory[:count])
                        os.close(file)
                        return b"".join(parts)
                    for path in files:
                        whole = read(path)
                        for way in (sent, spliced, mapped):
                            if opened(os.O_RDONLY, lambda file: way(file, len(whole)))(path) != whole: print(way.__name__, path)
                        if direct(path, len(whole)) != whole: print("direct", path)
                    print("done")
                    """#)
            #expect(result == "done")
        }
    }

    @Test func `S21: what the kernel keeps can be mapped privately and shared, all else privately`() throws {
        try PhotoDiary.withMount { sandbox in
            // Media files count as unchanged when they were not written to for two seconds.
            try sandbox.sh("mkdir $M/snapshots/one; echo '{' > $M/restore/x.part; wait_settled $S/app")
            let result = try sandbox.python(
                #"""
                def mapping(flags, protection, access):
                    return opened(access, lambda file: mmap.mmap(file, 1, flags, protection).close())
                places = {"kept": ["live/export.json", "live/database.sqlite", "live/media/one.jpg", "snapshots/one/export.json", "snapshots/one/archive.tar", "snapshots/one/media/one.jpg",
                    "exports/" + os.listdir("exports")[0]],
                    "others": ["README.txt", "status.json", "live/SHA256SUMS", "live/archive.zip", "live/archive.tar", "restore/x.part"]}
                for kind, paths in places.items():
                    for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
                        print(kind, {code(mapping(flags, mmap.PROT_READ, os.O_RDONLY), path) for path in paths})
                writing = mapping(mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, os.O_RDWR)
                print(code(writing, "restore/x.part"), code(writing, "snapshots/one/export.json"))
                def change(file):
                    with mmap.mmap(file, 3, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as memory:
                        memory[0:3] = b"new"
                        return memory[:]
                print(opened(os.O_RDONLY, change)("snapshots/one/media/one.jpg"), read("snapshots/one/media/one.jpg"))
                """#)
            #expect(
                result == """
                    kept {'ok'}
                    kept {'ok'}
                    others {'ok'}
                    others {'ENODEV'}
                    ENODEV EROFS
                    b'new' b'one'
                    """)
        }
    }

    @Test func `S22: no file has holes`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.files + #"""
                    for path in files:
                        size = os.stat(path).st_size
                        def look(file):
                            return (os.lseek(file, 0, os.SEEK_END) == size, os.lseek(file, 10, os.SEEK_DATA), os.lseek(file, 10, os.SEEK_HOLE) == size,
                                code(os.lseek, file, size, os.SEEK_DATA), code(os.lseek, file, size + 1, os.SEEK_HOLE),
                                code(os.lseek, file, -1, os.SEEK_SET), os.lseek(file, size + 9, os.SEEK_SET) == size + 9, os.read(file, 1))
                        if (told := opened(os.O_RDONLY, look)(path)) != (True, 10, True, "ENXIO", "ENXIO", "EINVAL", True, b""): print(path, told)
                    print("done")
                    """#)
            #expect(result == "done")
        }
    }

    @Test func `S23: a snapshot's bytes stay the same`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let script = #"""
                top = "snapshots/" + os.environ["NAME"]
                paths = sorted(path for path in everything(top) if is_file(path) and path != top + "/index.html")
                print(len(paths), [(path[len(top):], hashlib.sha256(read(path)).hexdigest()) for path in paths])
                """#
            let before = try sandbox.python(script, ["NAME": "one"])
            #expect(before.hasPrefix("13 [('/MD5SUMS', '"))
            try sandbox.sh(
                """
                rm -r $P/2024; echo other > $P/one.jpg; mkdir $M/snapshots/two; cp $M/snapshots/one/archive.zip $R/a.zip; cp $R/a.zip $M/restore/
                rmdir $M/snapshots/two; mv $M/snapshots/one $M/snapshots/renamed
                """)
            #expect(try sandbox.python(script, ["NAME": "renamed"]) == before)
            try sandbox.remount()
            #expect(try sandbox.python(script, ["NAME": "renamed"]) == before)
        }
    }

    @Test func `S24: a file that is open outlives its backup`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.python(
                #"""
                names = ["export.json", "archive.zip", "archive.tar", "SHA256SUMS", "media/2024/summer/three.jpg"]
                whole = [read("snapshots/one/" + name) for name in names]
                files = [open("snapshots/one/" + name, "rb", buffering=0) for name in names]
                starts = [file.read(10) for file in files]
                os.rmdir("snapshots/one")
                os.mkdir("snapshots/one")
                print([start + file.read() == bytes for start, file, bytes in zip(starts, files, whole)])
                print([os.fstat(file.fileno()).st_size == len(bytes) for file, bytes in zip(files, whole)])
                """#)
            #expect(result == "[True, True, True, True, True]\n[True, True, True, True, True]")
        }
    }

    @Test func `S25: damaged bytes are EIO for their file only`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.remount()
            let result = try sandbox.python(
                #"""
                photo = read("live/media/2024/summer/three.jpg")
                def flip():
                    """Turns a bit of the photo round where it is stored, and says in how many packs that was."""
                    count = 0
                    for folder, _, names in os.walk(S + "/repository/packs"):
                        for name in names:
                            with open(f"{folder}/{name}", "rb+") as pack:
                                place = (stored := pack.read()).find(photo[50_000:50_064]) + 64
                                if place >= 64:
                                    pack.seek(place)
                                    pack.write(struct.pack("B", stored[place] ^ 1))
                                    count += 1
                    return count
                print(flip())
                wrong = sorted(path for path in everything("snapshots/one") if is_file(path) and code(read, path) != "ok")
                print(wrong, {code(read, path) for path in wrong})
                print(code(read, "live/media/2024/summer/three.jpg"), code(os.stat, wrong[-1]), code(os.listdir, os.path.dirname(wrong[-1])))
                flip()
                print([code(read, path) for path in wrong], read(wrong[-1]) == photo)
                """#)
            #expect(
                result == """
                    1
                    ['snapshots/one/archive.tar', 'snapshots/one/archive.zip', 'snapshots/one/media/2024/summer/three.jpg'] {'EIO'}
                    ok ok ok
                    ['ok', 'ok', 'ok'] True
                    """)
        }
    }
}
