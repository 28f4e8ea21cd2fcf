import TestSupport
import Testing

/// Names, links and lookups, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct NameSemanticsTests {
    @Test func `S1: names are bytes`() throws {
        try Sandbox.withMount { sandbox in
            let result = try sandbox.python(
                #"""
                for name in ["One", "one", "\u00e9", "e\u0301"]:
                    os.mkdir("snapshots/" + name)
                print(sorted(os.listdir(b"snapshots")), code(os.stat, "snapshots/ONE"), code(os.stat, "readme.TXT"))
                """#)
            #expect(result == #"[b'One', b'e\xcc\x81', b'latest', b'one', b'\xc3\xa9'] ENOENT ENOENT"#)
        }
    }

    @Test func `S2: names have 255 bytes at most, paths 4095`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/" + "n" * 255)
                folders = [".", "live", "live/data", "snapshots", "snapshots/latest", "exports", "safety", "restore", "restore/preview"]
                calls = [os.stat, os.mkdir, os.rmdir, os.unlink, os.mkfifo, opened(os.O_RDONLY), opened(os.O_WRONLY | os.O_CREAT),
                    lambda path: os.rename("snapshots/" + "n" * 255, path), lambda path: os.symlink("x", path)]
                print({code(call, folder + "/" + "n" * 256) for folder in folders for call in calls})
                print([code(os.stat, "." + "/" * count + "README.txt") for count in (4084, 4085)])
                """#)
            #expect(result == "{'ENAMETOOLONG'}\n['ok', 'ENAMETOOLONG']")
        }
    }

    @Test func `S3: what is not there is ENOENT, and a way through a file ENOTDIR`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/one")
                folders = [".", "live", "live/data", "snapshots", "snapshots/one", "snapshots/one/data", "exports", "safety", "restore",
                    "restore/preview"]
                files = ["README.txt", "status.json", "live/export.json", "live/archive.zip", "snapshots/one/export.json",
                    "snapshots/one/SHA256SUMS", "exports/" + os.listdir("exports")[0]]
                for call in (os.stat, os.listdir, opened(os.O_RDONLY)):
                    print({code(call, folder + "/" + name) for folder in folders for name in ("absent", "absent/x", ".git")},
                        {code(call, file + end) for file in files for end in ("/", "/x", "/x/y")})
                """#)
            #expect(result == Array(repeating: "{'ENOENT'} {'ENOTDIR'}", count: 3).joined(separator: "\n"))
        }
    }

    @Test func `S4: symbolic links of the media folder are shown and never followed`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh(
                "cd $P; ln -s loop loop; ln -s $R/home out; ln -s one.jpg in; ln -s missing dangling; echo secret > $R/home/file")
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/one")
                for media in ("live/media", "snapshots/one/media"):
                    print([os.readlink(f"{media}/{name}").replace(R, "") for name in ("loop", "out", "in", "dangling")])
                    print(code(os.stat, media + "/loop"), code(opened(os.O_RDONLY), media + "/loop"), code(os.stat, media + "/dangling"))
                    print(read(media + "/in"), read(media + "/out/file"), sorted(name for _, folders, _ in os.walk(media) for name in folders))
                    print(b"secret" in read(media + "/../archive.tar"), b"out" in read(media + "/../SHA256SUMS"))
                """#)
            let lines = """
                ['loop', '/home', 'one.jpg', 'missing']
                ELOOP ELOOP ENOENT
                b'one' b'secret\\n' ['2024', 'out', 'summer']
                False False
                """
            #expect(result == "\(lines)\n\(lines)")
        }
    }

    @Test func `S5: latest names the newest backup whenever it is used`() throws {
        try Sandbox.withMount { sandbox in
            let result = try sandbox.python(
                #"""
                def look():
                    name = json.loads(read("snapshots/latest/manifest.json"))["name"]
                    print(os.readlink("snapshots/latest"), name, os.lstat("snapshots/latest").st_size)
                os.mkdir("snapshots/one"); look()
                os.mkdir("snapshots/second"); look()
                os.rename("snapshots/second", "snapshots/renamed"); look()
                os.rmdir("snapshots/renamed"); look()
                subprocess.run(["backupfs", "backup", "--store", S, "--label", "third"], stdout=subprocess.DEVNULL, check=True); look()
                for name in ("third", "one"):
                    os.rmdir("snapshots/" + name)
                print(code(os.lstat, "snapshots/latest"))
                """#)
            #expect(result == "one one 3\nsecond second 6\nrenamed second 7\none one 3\nthird third 5\nENOENT")
        }
    }
}
