import TestSupport
import Testing

/// `live/` and the drop folder, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LiveSemanticsTests {
    @Test func `S26: an open live file is of one state until it is closed`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.python(
                #"""
                names = ["export.json", "data/photos.json", "archive.zip", "archive.tar", "database.sqlite", "SHA256SUMS"]
                before = [read("live/" + name) for name in names]
                files = [open("live/" + name, "rb", buffering=0) for name in names]
                starts = [file.read(100) for file in files]
                with sqlite3.connect(S + "/app/database.sqlite") as database:
                    database.executemany("insert into photos values (?, 'one.jpg', 'x')", [(number,) for number in range(100, 5000)])
                after = [read("live/" + name) for name in names]
                print([start + file.read() == bytes for start, file, bytes in zip(starts, files, before)])
                expected = [(new if name.startswith("archive") or name == "SHA256SUMS" else old) for name, old, new in zip(names, before, after)]
                print([os.fstat(file.fileno()).st_size == len(bytes) for file, bytes in zip(files, expected)])
                print([old != new and os.stat("live/" + name).st_size == len(new) for name, old, new in zip(names, before, after)])
                """#)
            let all = "[True, True, True, True, True, True]"
            #expect(result == "\(all)\n\(all)\n\(all)")
        }
    }

    @Test func `S27: an open sees what was committed by then, and nothing else`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.python(
                #"""
                database = sqlite3.connect(S + "/app/database.sqlite", isolation_level=None)
                def captions():
                    return [each.get("caption") for each in json.loads(read("live/export.json"))["photos"]]
                for turn in range(3):
                    database.execute("begin immediate")
                    database.execute("update photos set caption = ? where id = 1", (f"turn {turn}",))
                    before = captions()
                    database.execute("commit")
                    print(before, captions(), json.loads(read("live/data/photos.json"))[0]["caption"])
                database.execute("begin immediate")
                database.execute("delete from photos")
                database.execute("rollback")
                print(captions())
                """#)
            #expect(
                result == """
                    ['first', None, 'sea'] ['turn 0', None, 'sea'] turn 0
                    ['turn 0', None, 'sea'] ['turn 1', None, 'sea'] turn 1
                    ['turn 1', None, 'sea'] ['turn 2', None, 'sea'] turn 2
                    ['turn 2', None, 'sea']
                    """)
        }
    }

    @Test func `S28: a live media file is the app's own, and no archive is of two states`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.python(
                #"""
                name, photo = "live/media/2024/summer/three.jpg", S + "/app/photos/2024/summer/three.jpg"
                old = read(photo)
                with open(name, "rb", buffering=0) as file:
                    start = file.read(1000)
                    with open(photo + ".new", "wb") as new: new.write(bytes(1000))
                    os.rename(photo + ".new", photo)
                    print(start + file.read() == old, read(name) == bytes(1000))
                with open(name, "rb", buffering=0) as file:
                    os.unlink(photo)
                    print(file.read() == bytes(1000), code(os.stat, name))
                with open("live/media/one.jpg", "rb", buffering=0) as file:
                    with open(S + "/app/photos/one.jpg", "rb+") as app: app.write(b"ONE")
                    print(file.read() in (b"one", b"ONE"), read("live/media/one.jpg"))
                for archive in ("live/archive.zip", "live/archive.tar"):
                    with open(archive, "rb", buffering=0) as file:
                        with open(S + "/app/photos/one.jpg", "rb+") as app: app.write(b"two")
                        os.utime(S + "/app/photos/one.jpg", (5, ord(archive[-1])))
                        print(code(file.readall), b"two" in read("live/archive.tar"))
                """#)
            #expect(result == "True True\nTrue ENOENT\nTrue b'ONE'\nEIO True\nEIO True")
        }
    }

    // MARK: The drop folder

    @Test func `S46: a file can be dropped in any order and read meanwhile`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                export = read("live/export.json")
                file = os.open("restore/x.json", os.O_RDWR | os.O_CREAT | os.O_EXCL)
                pieces = [(start, export[start:start + 5000]) for start in range(0, len(export), 5000)]
                random.Random(46).shuffle(pieces)
                size = 0
                for start, piece in pieces:
                    os.pwrite(file, piece, start)
                    size = max(size, start + len(piece))
                    if os.stat("restore/x.json").st_size != size or os.pread(file, 10, start) != piece[:10]: print("differs", start)
                print(read("restore/x.json") == export, sorted(os.listdir("restore")))
                os.close(file)
                print(json.loads(read("restore/last.json"))["success"], read("restore/x.json") == export)
                """#)
            #expect(result == "True ['README.txt', 'merge', 'preview', 'replace', 'skip', 'x.json']\nTrue True")
        }
    }

    @Test func `S47: close returns the verdict`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                def drop(name, bytes):
                    file = os.open("restore/" + name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                    os.write(file, bytes)
                    return code(os.close, file)
                export = json.loads(read("live/export.json"))
                print(drop("good.json", json.dumps(export).encode()), os.listxattr("restore/good.json"))
                export["expenses"][0]["carId"] = 99
                bad = json.dumps(export).encode()
                print(drop("bad.json", bad), read("restore/bad.json") == bad, os.getxattr("restore/bad.json", "user.backupfs.error"))
                export["metadata"]["databaseSchemaVersion"] = 0
                print(drop("cut.json", bad[:100]), drop("old.json", json.dumps(export).encode()))
                print(drop("damaged.zip", b"PK\3\4" + bytes(100)), drop(".hidden", bad), drop("x.part", bad), drop("empty.json", b""))
                """#)
            #expect(
                result == """
                    ok ['user.mime_type']
                    EINVAL True b'Import failed: expense 1 refers to unknown car 99'
                    EINVAL EPROTONOSUPPORT
                    EBADMSG ok ok ok
                    """)
        }
    }

    @Test func `S48: modes and times of dropped files are kept, owners accepted`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                with open("restore/x.part", "w") as file: file.write("{")
                os.chmod("restore/x.part", 0o640)
                os.utime("restore/x.part", ns=(5, 1_700_000_000_123_456_789))
                print(code(os.chown, "restore/x.part", os.getuid(), os.getgid()), code(os.chown, "restore/x.part", -1, os.getgid()))
                os.rename("restore/x.part", "restore/y.part")
                told = os.stat("restore/y.part")
                print(oct(told.st_mode), told.st_mtime_ns, told.st_size, told.st_uid == os.getuid())
                if os.getuid() == 0:
                    os.chown("restore/y.part", 1, 1)
                    if os.stat("restore/y.part").st_uid != 0: print("an owner was kept")
                """#)
            #expect(result == "ok ok\n0o100640 1700000000123456789 1 True")
        }
    }
}
