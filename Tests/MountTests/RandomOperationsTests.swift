import TestSupport
import Testing

/// Thousands of random calls through the kernel, compared with a model in memory of what the tree must show. `ModelTests` does
/// fewer and compares everything after each; this one reads samples in between the changes.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"), .rotating(oneIn: 3))
struct RandomOperationsTests {
    private static let model = #"""
        import io, tarfile, zipfile
        chance = random.Random(int(os.environ["SEED"]))
        names = ["a", "b", "c", "before upgrade", "\u00fc", "f", "g"]
        stored = ["export.json", "data/photos.json", "database.sqlite", "archive.zip", "archive.tar", "SHA256SUMS", "MD5SUMS", "manifest.json",
            "schema.json", "changes.json", "media/one.jpg", "media/2024/two.jpg", "media/2024/summer/three.jpg"]
        backups = []      # oldest first: name, caption, photo, pinned, inode number, bytes of files that were read
        live = {"caption": "first", "photo": b"one"}
        held = []         # open files of backups, which may be gone: descriptor, bytes
        safety_count = 0
        counts = {}
        number = 0

        def expect(told, expected, *what):
            if told != expected:
                print("WRONG", what, "told", repr(told)[:200], "expected", repr(expected)[:200], "after", counts)
                sys.exit()

        def named(name): return next((each for each in backups if each["name"] == name), None)
        def any_backup(): return chance.choice(backups) if backups else None
        def path(backup, file): return f"snapshots/{backup['name']}/{file}"
        def added(name): backups.append({"name": name, **live, "pinned": "0", "number": os.stat("snapshots/" + name).st_ino, "bytes": {}})

        def whole(backup, file):
            """What a file must hold for ever: what was read first, if that is right."""
            if file not in backup["bytes"]:
                bytes = backup["bytes"][file] = read(path(backup, file))
                if file == "export.json": expect(json.loads(bytes)["photos"][0]["caption"], backup["caption"], file)
                if file == "media/one.jpg": expect(bytes, backup["photo"], file)
                if file == "archive.zip":
                    with zipfile.ZipFile(io.BytesIO(bytes)) as archive:
                        expect(archive.testzip(), None)
                        expect([archive.read(name) for name in archive.namelist() if name.endswith("one.jpg")], [backup["photo"]], file)
                if file == "archive.tar":
                    with tarfile.open(fileobj=io.BytesIO(bytes)) as archive:
                        expect([archive.extractfile(name).read() for name in archive.getnames() if name.endswith("one.jpg")],
                            [backup["photo"]], file)
            return backup["bytes"][file]

        def ranged(file, bytes, *what):
            start = chance.choice([0, chance.randrange(len(bytes) + 1), max(0, len(bytes) - chance.randrange(30)), len(bytes) + 7])
            length = chance.choice([1, 100, 4096, 70_000, 2_000_000])
            expect(os.pread(file, length, start), bytes[start:start + length], *what, start, length)

        # What changes something.

        def make():
            name = chance.choice(names)
            expect(code(os.mkdir, "snapshots/" + name), "EEXIST" if named(name) else "ok", "mkdir", name)
            if not named(name): added(name)

        def make_beside():
            name = chance.choice(names)
            done = subprocess.run(["backupfs", "backup", "--store", S, "--label", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            expect(done.returncode == 0, not named(name), "backup", name)
            if not named(name): added(name)

        def remove():
            name = chance.choice(names)
            backup = named(name)
            answer = "ENOENT" if not backup else "EPERM" if backup["pinned"] == "1" else "ok"
            expect(code(os.rmdir, "snapshots/" + name), answer, "rmdir", name)
            if answer == "ok": backups.remove(backup)

        def remove_beside():
            if not (backup := any_backup()): return
            command = ["backupfs", "forget", backup["name"], "--yes", "--store", S]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            expect(done.returncode == 0, backup["pinned"] == "0", "forget", backup["name"])
            if backup["pinned"] == "1": return
            backups.remove(backup)
            expect(code(os.stat, path(backup, "export.json")), "ENOENT", "forget", backup["name"])

        def rename():
            old, new, flags = chance.choice(names), chance.choice(names), chance.choice([0, 0, 0, 1, 2])
            answer = code(renameat2, "snapshots/" + old, "snapshots/" + new, flags)
            if not named(old): return expect(answer, "ENOENT", "rename", old, new, flags)
            if old == new: return expect(answer, "EEXIST" if flags == 1 else "ok" if flags == 0 else answer, "rename", old, new, flags)
            if flags == 2: return expect(answer, "EINVAL" if named(new) else "ENOENT", "rename", old, new, flags)
            expect(answer, "EEXIST" if named(new) else "ok", "rename", old, new, flags)
            if not named(new): named(old)["name"] = new

        def edit():
            global number
            number += 1
            live["caption"] = f"caption {number}"
            with sqlite3.connect(S + "/app/database.sqlite", timeout=20) as database:
                database.execute("update photos set caption = ? where id = 1", (live["caption"],))

        def edit_photo():
            global number
            number += 1
            live["photo"] = b"photo" * number
            with open(S + "/app/photos/one.new", "wb") as file: file.write(live["photo"])
            os.rename(S + "/app/photos/one.new", S + "/app/photos/one.jpg")

        def drop(file, bytes, folder="restore"):
            descriptor = os.open(f"{folder}/{file}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for start in range(0, len(bytes), 50_000): os.pwrite(descriptor, bytes[start:start + 50_000], start)
            answer = code(os.close, descriptor)
            os.unlink(f"{folder}/{file}")
            return answer

        def restore():
            global safety_count
            if not (backup := any_backup()): return
            file = chance.choice(["export.json", "archive.zip", "database.sqlite"])
            expect(drop(file, whole(backup, file)), "ok", "restore", file)
            safety_count += 1
            live["caption"] = backup["caption"]
            if file == "archive.zip": live["photo"] = backup["photo"]

        def restore_nothing():
            if not (backup := any_backup()): return
            export = whole(backup, "export.json")
            expect(drop("x.json", export[:chance.randrange(1, len(export) - 5)]), "EINVAL", "cut")
            expect(drop("x.zip", b"PK\3\4" + bytes(100)), "EBADMSG", "no archive")
            expect(drop("x.json", export, "restore/preview"), "ok", "preview")

        def pin():
            if not (backup := any_backup()): return
            backup["pinned"] = chance.choice("01")
            os.setxattr("snapshots/" + backup["name"], "user.backupfs.pinned", backup["pinned"].encode())

        # What only looks.

        def look_range():
            if not (backup := any_backup()): return
            file = chance.choice(stored)
            bytes = whole(backup, file)
            expect(os.stat(path(backup, file)).st_size, len(bytes), file)
            opened(os.O_RDONLY, lambda descriptor: [ranged(descriptor, bytes, file) for _ in range(4)])(path(backup, file))

        def look_held():
            if backups and len(held) < 8:
                backup, file = any_backup(), chance.choice(stored)
                held.append((os.open(path(backup, file), os.O_RDONLY), whole(backup, file)))
            if held:
                index = chance.randrange(len(held))
                ranged(*held[index], "held")
                if chance.random() < 0.2: os.close(held.pop(index)[0])

        def look_list():
            expect(sorted(os.listdir("snapshots")), sorted([each["name"] for each in backups] + ["latest"] * bool(backups)), "snapshots")
            expect({(each.name, each.inode()) for each in os.scandir("snapshots") if each.is_dir(follow_symlinks=False)},
                {(each["name"], each["number"]) for each in backups}, "inode numbers")
            expect(os.readlink("snapshots/latest") if backups else code(os.readlink, "snapshots/latest"),
                backups[-1]["name"] if backups else "ENOENT", "latest")
            expect((len(os.listdir("exports")), len(os.listdir("safety"))), (len(backups), min(3, safety_count)), "exports, safety")
            if backup := any_backup():
                top = "snapshots/" + backup["name"]
                expect(sorted(os.path.relpath(each, top) for each in everything(top) if is_file(each) and each != top + "/index.html"), sorted(stored), "files")

        def look_attributes():
            if not (backup := any_backup()): return
            file = chance.choice(stored)
            expect(os.getxattr(path(backup, file), "user.checksum.sha256").decode(), hashlib.sha256(whole(backup, file)).hexdigest(), file)
            expect(os.getxattr("snapshots/" + backup["name"], "user.backupfs.pinned").decode(), backup["pinned"], "pinned")
            expect(code(os.getxattr, path(backup, file), "user.absent"), "ENODATA")

        def look_live():
            expect(json.loads(read("live/export.json"))["photos"][0]["caption"], live["caption"], "live")
            expect(read("live/media/one.jpg"), live["photo"], "live photo")
            file = chance.choice(["live/archive.zip", "live/archive.tar", "live/database.sqlite", "live/SHA256SUMS"])
            def parts(descriptor):
                size = os.lseek(descriptor, 0, os.SEEK_END)
                bytes = os.pread(descriptor, size + 1, 0)
                expect(len(bytes), size, file)
                for _ in range(4): ranged(descriptor, bytes, file)
                if file.endswith("zip"): expect(zipfile.ZipFile(io.BytesIO(bytes)).testzip(), None)
            opened(os.O_RDONLY, parts)(file)

        def look_absent():
            name = chance.choice(names)
            if not named(name): expect((code(os.stat, "snapshots/" + name), code(os.stat, f"snapshots/{name}/export.json")), ("ENOENT", "ENOENT"))
            if backup := any_backup():
                expect(code(os.stat, path(backup, "media/" + chance.choice(["x", ".git", "2024/x"]))), "ENOENT")
                file = path(backup, chance.choice(stored))
                expect({code(os.unlink, file), code(opened(os.O_WRONLY), file), code(os.truncate, file, 0)}, {"EROFS"}, file)

        changes = [make] * 4 + [remove] * 3 + [rename] * 6 + [edit] * 3 + [edit_photo] * 2 + [restore] * 3 + [pin] * 2 \
            + [make_beside, remove_beside, restore_nothing]
        looks = [look_range] * 6 + [look_held] * 4 + [look_list, look_attributes, look_attributes, look_live, look_absent, look_absent]
        for _ in range(int(os.environ["STEPS"])):
            step = chance.choice(changes if chance.random() < 0.12 else looks)
            counts[step.__name__] = counts.get(step.__name__, 0) + 1
            step()
        print("done", min(counts.get(step.__name__, 0) for step in changes + looks) > 0)

        """#

    @Test(arguments: Rounds.part(of: [1, 2, 3, 4], oneIn: 4))
    func `random calls find what the model says`(seed: Int) throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.python(Self.model, ["SEED": String(seed), "STEPS": "1200"])
            #expect(result == "done True")
        }
    }
}
