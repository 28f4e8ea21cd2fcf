import TestSupport
import Testing

/// Making, deleting and renaming backups, and when other processes see it, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct BackupSemanticsTests {
    @Test func `S29: the calls answer as their table says`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                def say(*cases): print([code(*case) for case in cases])
                say((os.mkdir, "snapshots/one"), (os.mkdir, "snapshots/one"), (os.mkdir, "snapshots/latest"), (os.mkdir, "snapshots/.x"),
                    (os.mkdir, b"snapshots/a\xff"), (os.mkdir, "snapshots/a\nb"), (os.mkdir, "snapshots/a\x7f"), (os.mkdir, "snapshots/two"))
                say((os.rmdir, "snapshots/two"), (os.rmdir, "snapshots/two"), (os.rmdir, "snapshots/latest"), (os.mkdir, "snapshots/two"))
                say((os.rename, "snapshots/two", "snapshots/one"), (os.rename, "snapshots/two", "snapshots/three"),
                    (os.rename, "snapshots/two", "snapshots/four"), (os.rename, "snapshots/three", "restore/three"),
                    (os.rename, "snapshots/three", "three"), (os.rename, "snapshots/three", "snapshots/.x"),
                    (os.rename, "snapshots/latest", "snapshots/x"))
                say((os.unlink, "snapshots/one"), (os.unlink, "snapshots/latest"), (os.unlink, "snapshots/none"))
                say((opened(os.O_WRONLY | os.O_CREAT), "snapshots/file"), (opened(os.O_CREAT | os.O_EXCL | os.O_RDWR), "snapshots/file"))
                print(sorted(os.listdir("snapshots")))
                """#)
            #expect(
                result == """
                    ['ok', 'EEXIST', 'EEXIST', 'EPERM', 'EPERM', 'EPERM', 'EPERM', 'ok']
                    ['ok', 'ENOENT', 'ENOTDIR', 'ok']
                    ['EEXIST', 'ok', 'ENOENT', 'EXDEV', 'EXDEV', 'EPERM', 'ENOTDIR']
                    ['EISDIR', 'EROFS', 'ENOENT']
                    ['EPERM', 'EPERM']
                    ['latest', 'one', 'three']
                    """)
        }
    }

    @Test func `S30: a backup is durable and whole when mkdir has returned`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            for name in ["one", "two"] {
                let daemon = String(try #require(sandbox.daemons.first))
                try sandbox.python(
                    "os.mkdir('snapshots/' + os.environ['NAME']); os.kill(int(os.environ['DAEMON']), signal.SIGKILL)",
                    ["NAME": name, "DAEMON": daemon])
                try sandbox.crash()
                try sandbox.sh("fusermount3 -u -z $M")
                try sandbox.mount()
                try sandbox.sh(
                    """
                    cd $M/snapshots/\(name); sha256sum --quiet --strict -c SHA256SUMS; unzip -tqq archive.zip
                    [ $(readlink ../latest) = \(name) ]
                    """)
            }
        }
    }

    @Test func `S31: rmdir is never ENOTEMPTY, and rm -r removes nothing`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one; (cd $M/snapshots/one; sha256sum archive.tar) > $R/before")
            try sandbox.fails("rm -rf $M/snapshots/one", saying: "Read-only file system")
            try sandbox.fails("rm -rf $M/snapshots $M/live $M/exports", saying: "Read-only file system")
            try sandbox.sh(
                "cd $M/snapshots/one; sha256sum --quiet -c $R/before; sha256sum --quiet -c SHA256SUMS; mkdir $M/snapshots/two")
            #expect(
                try sandbox.python("print(code(os.rmdir, 'snapshots/one'), os.listdir('snapshots'))") == "ok ['two', 'latest']")
            try sandbox.fails("find $M/snapshots/two -delete", saying: "Read-only file system")
            #expect(try sandbox.names("snapshots") == [])
        }
    }

    @Test func `S32: renaming never replaces or exchanges`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                for name in ("one", "two"): os.mkdir("snapshots/" + name)
                numbers = {os.stat("snapshots/" + name).st_ino for name in ("one", "two")}
                for flags in (0, 1, 2, 4, 3):
                    print(flags, code(renameat2, "snapshots/one", "snapshots/two", flags), code(renameat2, "snapshots/one", "snapshots/three", flags))
                    if os.path.exists("snapshots/three"): os.rename("snapshots/three", "snapshots/one")
                print(numbers == {os.stat("snapshots/" + name).st_ino for name in ("one", "two")})
                """#)
            #expect(
                result == """
                    0 EEXIST ok
                    1 EEXIST ok
                    2 EINVAL ENOENT
                    4 EINVAL EINVAL
                    3 EINVAL EINVAL
                    True
                    """)
        }
    }

    @Test func `S33: while one operation runs another is EBUSY, and reads go on`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample; backupfs backup --store $S --label one; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "restore.before-commit=pause:\(sandbox.path)/pause"])
            let result = try sandbox.python(
                #"""
                with open(R + "/x.json", "wb") as file: file.write(read("live/export.json"))
                whole = read("snapshots/one/archive.zip")
                restore = subprocess.Popen(["cp", R + "/x.json", "restore/"])
                print(until(lambda: (json.loads(read("status.json")).get("operation") or {}).get("phase") == "Importing data..."))
                begin = time.monotonic()
                print(code(os.mkdir, "snapshots/two"), code(os.rmdir, "snapshots/one"), code(os.rename, "snapshots/one", "snapshots/two"))
                file = os.open("restore/y.json", os.O_WRONLY | os.O_CREAT)
                os.write(file, b"{}")
                print(code(os.close, file), time.monotonic() - begin < 10)
                print(os.listdir("snapshots"), read("snapshots/one/archive.zip") == whole, len(read("live/export.json")) > 1000)
                os.unlink(R + "/pause")
                print(restore.wait(), code(os.mkdir, "snapshots/two"))
                """#)
            #expect(result == "True\nEBUSY EBUSY EBUSY\nEBUSY True\n['one', 'latest'] True True\n0 ok")
            try sandbox.unmount()
        }
    }
}
