import TestSupport
import Testing

/// What everyday tools do with a backup that has photos, compared with the photos themselves.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ToolTests {
    /// Runs a test with the backup `one` of the photo diary, plus two larger photos, a link, an empty file and an empty folder.
    private func withBackup(_ body: (Sandbox) throws -> Void) throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                cd $P; head -c 5000000 /dev/urandom > big.raw; head -c 3000000 /dev/zero > zeros.bin; : > empty.jpg
                ln -s one.jpg link; mkdir empty-folder
                # rsync leaves a time as it is when the second is the same.
                touch -h -d '2024-05-06 07:08:09.123456789' big.raw link empty-folder; mkdir $M/snapshots/one; chmod 600 one.jpg 2024/*.jpg 2024/summer/*.jpg *.raw *.bin empty.jpg
                """
            )
            try body(sandbox)
        }
    }

    @Test func `cp, rsync and tar bring everything over, extended attributes too, and a second run brings nothing`() throws {
        try withBackup { sandbox in
            let source = try sandbox.sh("cd $P; \(PhotoDiary.describe)")
            try sandbox.sh(
                """
                cd $M/snapshots; cp -a --reflink=auto one $R/cp; rsync -aHAX one/ $R/rsync/; mkdir $R/tar
                tar --xattrs --xattrs-include='user.*' -cf $R/one.tar one
                tar --xattrs --xattrs-include='user.*' -C $R/tar --strip-components=1 -xf $R/one.tar
                """)
            for copy in ["cp", "rsync", "tar"] {
                #expect(try sandbox.sh("cd $R/\(copy)/media; \(PhotoDiary.describe)") == source, "\(copy)")
                try sandbox.sh(
                    "cd $R/\(copy); diff -r --no-dereference $M/snapshots/one .; sha256sum --quiet --strict -c SHA256SUMS")
            }
            #expect(
                try sandbox.sh("rsync -aHAXi $M/snapshots/one/ $R/rsync/; rsync -aHAXic --delete $M/snapshots/one/ $R/rsync/")
                    == "")
            // On a file system without user attributes, the copies lack them.
            guard try sandbox.run("touch $R/can; setfattr -n user.test -v 1 $R/can").exitCode == 0 else { return }
            let sum = try sandbox.sh("sha256sum < $P/big.raw | cut -d' ' -f1")
            for copy in ["cp", "rsync", "tar"] {
                let file = "$R/\(copy)/media/big.raw"
                #expect(try sandbox.sh("getfattr --only-values -n user.checksum.sha256 \(file)") == sum, "\(copy)")
                #expect(
                    try sandbox.sh("getfattr --only-values -n user.mime_type \(file)") == "application/octet-stream", "\(copy)")
            }
        }
    }

    @Test func `find, du, ls and diff see what is there`() throws {
        try withBackup { sandbox in
            let lists = "-type f -printf '%P %s %T@\\n' | sort"
            let seen = try sandbox.sh("find $M/snapshots/one/media \(lists)")
            #expect(try sandbox.sh("find $P \(lists)") == seen)
            #expect(try sandbox.sh("find $M/snapshots/one/media -size +2M -printf '%f\\n' | sort") == "big.raw\nzeros.bin")
            #expect(try sandbox.sh("find $M/snapshots/one/media -size 0 -type f -printf '%f\\n'") == "empty.jpg")
            #expect(try sandbox.sh("find $M/snapshots/one/media -empty -printf '%f\\n' | sort") == "empty-folder\nempty.jpg")
            #expect(
                try sandbox.sh(
                    "find $M/snapshots/one/media/2024 -type f -newer $P/one.jpg ! -newer $P/2024/summer/three.jpg -printf '%f\\n'"
                )
                    == "three.jpg")
            #expect(
                try sandbox.sh("find $M -xdev -samefile $M/snapshots/one/export.json -printf '%P\\n'")
                    == "snapshots/one/export.json"
            )
            // All of it, including the link to the newest: no warning, no loop, no two files with one inode.
            #expect(try sandbox.run("find $M -ls > $R/all; find -L $M -ls > $R/followed").text == "")
            #expect(try sandbox.sh("find $M -xdev -printf '%i\\n' | sort | uniq -d") == "")
            #expect(
                try sandbox.sh("cd $M/snapshots/one; ls -lR . | awk '/^-/ { sum += $5 } END { print sum }'")
                    == sandbox.sh("cd $M/snapshots/one; find . -type f -exec cat {} + | wc -c"))
            // Link targets count as well: `one.jpg` has seven bytes.
            #expect(try sandbox.sh("du -sb $M/snapshots/one/media | cut -f1") == "8300013")
            // In units of 512 bytes: 586 of three.jpg, 9,766 of big.raw, 5,860 of zeros.bin, and one each for one.jpg, two.jpg
            // and the link.
            #expect(try sandbox.sh("du -s -B 512 $M/snapshots/one/media | cut -f1") == "16215")
            #expect(try sandbox.sh("diff -r --no-dereference $P $M/snapshots/one/media") == "")
            #expect(try sandbox.sh("diff -r --no-dereference $M/live/media $M/snapshots/one/media") == "")
            try sandbox.sh("cd $M/snapshots/latest; sha256sum --quiet --strict -c SHA256SUMS; md5sum --quiet --strict -c MD5SUMS")
        }
    }

    @Test func `mmap, sendfile, copy_file_range and os.walk`() throws {
        try withBackup { sandbox in
            try sandbox.write(Self.calls, to: "calls.py")
            #expect(try sandbox.sh("python3 $R/calls.py") == "fine")
        }
    }

    /// Ends with an error at the first byte that differs.
    private static let calls = """
        import errno, mmap, os, random
        M, R, P = os.environ["M"], os.environ["R"], os.environ["P"]
        one = M + "/snapshots/one/"
        def new(path): return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)

        original = open(P + "/big.raw", "rb").read()
        with open(one + "media/big.raw", "rb") as file:
            for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
                with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as view:
                    assert view[4_000_001:4_100_003] == original[4_000_001:4_100_003]
                    assert view[:] == original
            with mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as view:
                view[10:14] = b"mine"
                assert view[:20] == original[:10] + b"mine" + original[14:20]
            assert file.read(20) == original[:20]

        sent, source, offset = new(R + "/sent"), os.open(one + "media/big.raw", os.O_RDONLY), 0
        while count := os.sendfile(sent, source, offset, 777_777): offset += count
        assert os.pread(sent, offset + 1, 0) == original

        chance = random.Random(7)
        for name in ("archive.zip", "archive.tar", "media/big.raw"):
            with open(one + name, "rb") as file: whole = file.read()
            size, source = len(whole), os.open(one + name, os.O_RDONLY)
            assert size == os.stat(one + name).st_size
            ranges = [(0, 1), (1, 29), (size - 22, 22), (size - 1, 1), (size, 100), (size + 5, 10), (4095, 4098), (131071, 131074)]
            ranges += [(chance.randrange(size), chance.randrange(1, 400_000)) for _ in range(30)]
            for start, length in ranges:
                # Between two file systems Linux refuses, and programs copy by hand; within the mount it copies.
                part, done = new(M + "/restore/range.part"), 0
                while done < length and (count := os.copy_file_range(source, part, length - done, start + done, done)): done += count
                assert os.pread(part, length + 1, 0) == whole[start:start + length], (name, start, length)
                os.close(part)
            try: os.copy_file_range(source, sent, 1)
            except OSError as error: assert error.errno == errno.EXDEV, error
        os.unlink(M + "/restore/range.part")

        def walk(root):
            found, inodes = {}, set()
            for folder, folders, files in os.walk(root):
                for name in folders + files:
                    path = os.path.join(folder, name)
                    status = os.lstat(path)
                    assert status.st_ino not in inodes
                    inodes.add(status.st_ino)
                    key = os.path.relpath(path, root)
                    if os.path.islink(path): found[key] = os.readlink(path)
                    elif os.path.isdir(path): found[key] = None
                    else: found[key] = (status.st_size, status.st_mtime_ns, open(path, "rb").read())
            return found
        assert len(walk(P)) == 10 and walk(one + "media") == walk(P) == walk(M + "/live/media")
        print("fine")
        """

    @Test func `dd, curl and rsync read parts, and go on where a copy broke off`() throws {
        try withBackup { sandbox in
            for name in ["archive.zip", "archive.tar"] {
                let file = "$M/snapshots/one/\(name)"
                try sandbox.sh("cp \(file) $R/whole")
                for part in [
                    "bs=1000 skip=777 count=3", "bs=1 skip=5000001 count=501", "bs=1M skip=4",
                    "bs=64K skip=70007 iflag=skip_bytes",
                ] {
                    try sandbox.sh("cmp <(dd if=\(file) \(part) status=none) <(dd if=$R/whole \(part) status=none)")
                }
                for (range, part) in [
                    ("0-0", "head -c 1"), ("1-29", "tail -c +2 | head -c 29"),
                    ("131071-262145", "tail -c +131072 | head -c 131075"),
                    ("5000000-", "tail -c +5000001"), ("-22", "tail -c 22"),
                ] {
                    try sandbox.sh(
                        "curl -s -r \(range) -o $R/part file://\(file); set +o pipefail; cat $R/whole | \(part) | cmp - $R/part")
                }
                let half = "head -c 2600001 $R/whole > $R/half"
                try sandbox.sh("\(half); curl -s -C - -o $R/half file://\(file); cmp $R/half \(file)")
                try sandbox.sh("\(half); rsync --inplace --append-verify \(file) $R/half; cmp $R/half \(file)")
                try sandbox.sh("\(half); rsync -t --inplace --no-whole-file \(file) $R/half; cmp $R/half \(file)")
                #expect(try sandbox.sh("rsync -ti --inplace \(file) $R/half") == "")
            }
        }
    }

    @Test func `inotify tells what is done through the mount`() throws {
        try withBackup { sandbox in
            let watcher = try sandbox.start(
                """
                exec python3 - <<'END'
                import ctypes, os, struct
                M, R = os.environ["M"], os.environ["R"]
                library = ctypes.CDLL(None, use_errno=True)
                kinds = {0x100: "CREATE", 0x200: "DELETE", 0x40: "MOVED_FROM", 0x80: "MOVED_TO"}
                queue = library.inotify_init()
                watched = library.inotify_add_watch(queue, (M + "/snapshots").encode(), sum(kinds))
                assert queue >= 0 and watched >= 0, os.strerror(ctypes.get_errno())
                open(R + "/watching", "w").close()
                told = 0
                while told < 4:
                    data = os.read(queue, 65536)
                    while data:
                        _, mask, _, length = struct.unpack("iIII", data[:16])
                        name, data = data[16:16 + length].rstrip(b"\\0").decode(), data[16 + length:]
                        print(kinds[mask & 0x3ff], "folder" if mask & 0x40000000 else "file", name)
                        told += 1
                END
                """)
            try sandbox.wait(for: "\(sandbox.path)/watching")
            try sandbox.sh("mkdir $M/snapshots/x; mv $M/snapshots/x $M/snapshots/y; rmdir $M/snapshots/y")
            #expect(
                try watcher.wait(limitSeconds: 20).lines == [
                    "CREATE folder x", "MOVED_FROM folder x", "MOVED_TO folder y", "DELETE folder y",
                ])
        }
    }
}
