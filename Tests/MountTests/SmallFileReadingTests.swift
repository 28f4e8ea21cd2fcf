import TestSupport
import Testing

/// Small files of backups, whose bytes the kernel gets when they are opened.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct SmallFileReadingTests {
    /// A backup `one` of 300 photos from 1 byte to 64 KiB.
    private func withPhotos(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh(
                """
                mkdir $P/many; cd $P/many; for i in $(seq 1 299); do head -c $((i * i % 8000 + 1)) /dev/urandom > photo-$i.jpg; done
                head -c 65536 /dev/urandom > photo-300.jpg; cp -a $P $R/original
                backupfs mount --log-level trace --store $S $M; mkdir $M/snapshots/one
                """)
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    /// How many requests for an operation have come so far.
    private func requests(_ sandbox: Sandbox, _ operation: String) throws -> Int {
        let count = try sandbox.sh(
            "jq -c 'select(.op == \"request\" and .phase == \"\(operation)\")' $S/backupfs.log | wc -l")
        return try #require(Int(count))
    }

    @Test func `tar reads them without a request for a read`() throws {
        try withPhotos { sandbox in
            try sandbox.sh("ls -lR $M/snapshots/one/media/many > /dev/null")
            let before = try ["read", "getattr", "open"].map { try requests(sandbox, $0) }
            try sandbox.sh("tar -C $M/snapshots/one/media -cf $R/many.tar many")
            let after = try ["read", "getattr", "open"].map { try requests(sandbox, $0) }
            let counts = zip(after, before).map { $0 - $1 }
            // The kernel may have dropped some when it was short of memory.
            #expect(counts[0] < 30 && counts[1] < 60 && (300...320).contains(counts[2]), "\(counts)")
            try sandbox.sh("mkdir $R/out; tar -C $R/out -xf $R/many.tar; diff -r $R/out/many $R/original/many")
            try sandbox.sh("diff -r $M/snapshots/one/media $R/original")
        }
    }

    @Test func `the bytes are right for many programs at once, and after the kernel has dropped them`() throws {
        try withPhotos { sandbox in
            try sandbox.sh(
                """
                for i in 1 2 3 4; do diff -r $M/snapshots/one/media $R/original & jobs="$jobs $!"; done
                for job in $jobs; do wait $job; done
                """)
            let result = try sandbox.python(
                #"""
                folder = M + "/snapshots/one/media/many/"
                wrong = []
                for turn in range(3):
                    for name in os.listdir(folder):
                        file = os.open(folder + name, os.O_RDONLY)
                        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                        expected = read(R + "/original/many/" + name)
                        if os.pread(file, 100_000, 0) != expected: wrong.append(name)
                        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as mapped:
                            if mapped[:] != expected: wrong.append(name)
                        os.close(file)
                for name in os.listdir(folder):
                    direct = os.open(folder + name, os.O_RDONLY | os.O_DIRECT)
                    buffer = mmap.mmap(-1, 131072)
                    count = os.readv(direct, [buffer])
                    if buffer[:count] != read(R + "/original/many/" + name): wrong.append(name)
                    os.close(direct)
                print(wrong)
                """#)
            #expect(result == "[]")
            // Another mount begins without anything.
            try sandbox.remount()
            try sandbox.sh("cat $M/snapshots/one/media/many/photo-7.jpg | cmp - $R/original/many/photo-7.jpg")
            try sandbox.sh("diff -r $M/snapshots/one/media $R/original")
        }
    }

    @Test func `damaged bytes are an error of each read, and no others`() throws {
        try withPhotos { sandbox in
            try sandbox.unmount()
            // Folders are in packs of kind 1. A byte in every few thousand.
            try sandbox.write(
                """
                import os, sys
                for path in sys.argv[1:]:
                    with open(path, "r+b") as file:
                        data = bytearray(file.read())
                        if data[10] != 0: continue
                        for place in range(5000, len(data), 20011): data[place] ^= 1
                        file.seek(0); file.write(data)
                """, to: "damage.py")
            try sandbox.sh("find $S/repository/packs -name '*.pack' | xargs python3 $R/damage.py")
            try sandbox.mount()
            let result = try sandbox.python(
                #"""
                folder = M + "/snapshots/one/media/many/"
                def content(name):
                    try: return read(folder + name)
                    except OSError as error: return errno.errorcode[error.errno]
                right = wrong = 0
                damaged = []
                for turn in range(2):
                    for name in sorted(os.listdir(folder)):
                        found = content(name)
                        if found == "EIO": damaged.append(name)
                        elif found == read(R + "/original/many/" + name): right += 1
                        else: wrong += 1
                half = len(damaged) // 2
                print(wrong, right > 100, half > 5, damaged[:half] == damaged[half:], code(os.close, os.open(folder + damaged[0], os.O_RDONLY)))
                """#)
            #expect(result == "0 True True True ok")
        }
    }

    @Test func `programs that open one file do not keep all threads waiting for storage that does not respond`() throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                sandbox.variables["S"] = "\(disk.path)/store"
                try sandbox.sh("backupfs init --store $S --sample; backupfs backup --store $S --label one")
                try sandbox.mount()
                try sandbox.sh("ls -lR $M/snapshots/one > /dev/null")
                disk.stall()
                let result = Result {
                    try sandbox.looks(
                        """
                        readers = [start("cat", "snapshots/one/data/cars.json") for number in range(20)]
                        opened = lambda: sum(os.path.exists(f"/proc/{one.pid}/fd/3") for one in readers)
                        where = lambda pid: (open(f"/proc/{pid}/wchan").read(), open(f"/proc/{pid}/syscall").read().strip(), os.listdir(f"/proc/{pid}/fd"))
                        # All but the first, which waits for the bytes.
                        assert until(lambda: opened() == 19, 60), [(one.poll(), where(one.pid)) for one in readers]
                        answers(("ls", "snapshots/one/data/"))
                        assert all(one.poll() is None for one in readers)
                        """)
                }
                disk.goOn()
                _ = try result.get()
                try sandbox.sh("jq -e . $M/snapshots/one/data/cars.json > /dev/null")
                try sandbox.unmountStore()
            }
        }
    }
}
