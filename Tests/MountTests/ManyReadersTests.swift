import Glibc
import TestSupport
import Testing

/// Very many open files, and very many concurrent readers; afterwards the mounting process holds what it held before.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ManyReadersTests {
    /// Creates 1,100 photos, backs them up as `one`, and runs `script` twice: what the first run leaves open is kept for later
    /// ones.
    private func check(_ script: String) throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                """
                cd $P; for i in $(seq 1100); do echo "photo $i" > many-$i.jpg; done; head -c 1000000 /dev/urandom > big.raw
                mkdir $M/snapshots/one
                """)
            try sandbox.write(script, to: "script.py")
            let daemon = try #require(sandbox.daemons.first)
            // Packs, the kernel's queue and connections to the catalog are kept open, in bounded numbers; nothing else is.
            let descriptors = "ls -l /proc/\(daemon)/fd | grep -v -e /packs/ -e /dev/fuse -e /catalog.sqlite | wc -l"
            #expect(try sandbox.sh("python3 $R/script.py") == "fine")
            // The kernel releases files a moment after they were closed.
            try sandbox.sh("sync; sleep 0.2")
            let before = try #require(Int(sandbox.sh(descriptors)))
            #expect(try sandbox.sh("python3 $R/script.py") == "fine")
            try sandbox.sh("wait_until '[ $(\(descriptors)) -le \(before) ]'")
            #expect(try #require(Int(sandbox.sh("ls /proc/\(daemon)/fd | wc -l"))) < 200)
            #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
        }
    }

    @Test func `a thousand and twenty-four files are open at once in one process`() throws {
        try check(
            """
            import os, resource
            M, P = os.environ["M"], os.environ["P"]
            resource.setrlimit(resource.RLIMIT_NOFILE, (1200, max(1200, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
            one = M + "/snapshots/one/"
            opened = [(open(f"{one}media/many-{i}.jpg", "rb"), b"photo %d\\n" % i) for i in range(1, 513)]
            for name in ["archive.zip", "archive.tar", "media/big.raw", "SHA256SUMS", "export.json", "database.sqlite"]:
                whole = open(one + name, "rb").read()
                opened += [(open(one + name, "rb", buffering=0), whole) for _ in range(64)]
            opened += [(open(f"{M}/live/media/many-{i}.jpg", "rb"), b"photo %d\\n" % i) for i in range(1000, 1064)]
            for name, count in [("live/archive.tar", 4), ("live/archive.zip", 4), ("live/export.json", 28), ("live/database.sqlite", 28)]:
                whole = open(f"{M}/{name}", "rb").read()
                opened += [(open(f"{M}/{name}", "rb", buffering=0), whole) for _ in range(count)]
            assert len(opened) == 1024 and len({file.fileno() for file, _ in opened}) == 1024
            for number, (file, whole) in enumerate(opened):
                offset = number * 7919 % max(1, len(whole) - 50)
                assert os.pread(file.fileno(), 5000, offset) == whole[offset:offset + 5000], number
            for file, _ in opened: file.close()
            print("fine")
            """)
    }

    @Test func `two hundred readers at once, of the same files and of different ones`() throws {
        try check(
            """
            import os, threading
            M, P = os.environ["M"], os.environ["P"]
            one = M + "/snapshots/one/"
            shared = ["snapshots/one/" + name for name in
                ["archive.zip", "archive.tar", "media/big.raw", "SHA256SUMS", "MD5SUMS", "database.sqlite", "export.json"]]
            shared += ["live/archive.zip", "live/export.json", "live/database.sqlite"]
            wanted = {name: open(f"{M}/{name}", "rb").read() for name in shared}
            assert wanted[shared[2]] == open(P + "/big.raw", "rb").read()
            wrong, begun = [], threading.Barrier(200)

            def read(number):
                begun.wait()
                try:
                    if number % 2:
                        name = shared[number // 2 % 10]
                        offset = number * 5_003 % len(wanted[name])
                        with open(f"{M}/{name}", "rb") as file:
                            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                            file.seek(offset)
                            if file.read() != wanted[name][offset:]: wrong.append(name)
                    else:
                        for i in range(number * 5 + 1, number * 5 + 11):
                            for folder in ("snapshots/one", "live"):
                                with open(f"{M}/{folder}/media/many-{i}.jpg", "rb") as file:
                                    if file.read() != b"photo %d\\n" % i: wrong.append(i)
                except Exception as error: wrong.append(repr(error))

            threads = [threading.Thread(target=read, args=(number,)) for number in range(200)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            print(wrong or "fine")
            """)
    }
}
