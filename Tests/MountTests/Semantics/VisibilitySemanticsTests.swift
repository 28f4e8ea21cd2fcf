import TestSupport
import Testing

/// When a change becomes visible to other processes, and what the kernel caches, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct VisibilitySemanticsTests {
    @Test func `S34: what is done through the mount is seen by all at once`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                # Another process, which has looked at the names before.
                other = subprocess.Popen([sys.executable, "-c", """if True:
                    import os, sys
                    for line in sys.stdin:
                        path = line.strip()
                        print(os.path.exists(path), path.split("/")[1] in os.listdir("snapshots"), flush=True)"""],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                def seen(name):
                    answers = []
                    for path in ("snapshots/" + name, f"snapshots/{name}/data/cars.json"):
                        print(path, file=other.stdin, flush=True)
                        answers.append(other.stdout.readline().strip())
                    return answers
                everywhere = {str(seen("one"))}
                for turn in range(20):
                    os.mkdir("snapshots/one"); made = seen("one")
                    os.rename("snapshots/one", "snapshots/two"); renamed = seen("one") + seen("two")
                    os.rmdir("snapshots/two"); removed = seen("two")
                    everywhere.add(str((made, renamed, removed)))
                for each in sorted(everywhere): print(each)
                other.stdin.close(); other.wait()
                """#)
            let yes = "'True True', 'True True'"
            let no = "'False False', 'False False'"
            #expect(result == "([\(yes)], [\(no), \(yes)], [\(no)])\n[\(no)]")
        }
    }

    @Test func `S35: a backup that a command made is seen at the next look`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                seen = set()
                for turn in range(6):
                    name = f"backup-{turn}"
                    absent = (code(os.stat, "snapshots/" + name), name in os.listdir("snapshots"))
                    subprocess.run(["backupfs", "backup", "--store", S, "--label", name], stdout=subprocess.DEVNULL, check=True)
                    seen.add((absent, code(os.stat, f"snapshots/{name}/data/cars.json"), name in os.listdir("snapshots"),
                        os.readlink("snapshots/latest") == name, len(os.listdir("exports")) == turn + 1))
                print(seen)
                """#)
            #expect(result == "{(('ENOENT', False), 'ok', True, True, True)}")
        }
    }

    @Test func `S36: what others delete goes when forget returns, or within a second`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                for name in ("a", "b", "c"): os.mkdir("snapshots/" + name)
                def known(): return [code(os.stat, f"snapshots/{name}/data/cars.json") for name in ("a", "b", "c")]
                print(known())
                subprocess.run(["backupfs", "forget", "a", "--yes", "--store", S], stdout=subprocess.DEVNULL, check=True)
                print(known(), sorted(os.listdir("snapshots")))
                records = S + "/repository/snapshots"
                for name in os.listdir(records): os.rename(f"{records}/{name}", R + "/home/" + name)
                print(until(lambda: known() == ["ENOENT"] * 3, 3), os.listdir("snapshots"))
                for name in os.listdir(R + "/home"): os.rename(R + "/home/" + name, f"{records}/{name}")
                print(known())
                """#)
            #expect(
                result == """
                    ['ok', 'ok', 'ok']
                    ['ENOENT', 'ok', 'ok'] ['b', 'c', 'latest']
                    True []
                    ['ENOENT', 'ok', 'ok']
                    """)
        }
    }

    @Test func `S37: reading the generation waits until programs see everything`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                def generation(): return int(os.getxattr("snapshots", "user.backupfs.generation"))
                told = [generation()]
                os.mkdir("snapshots/one"); told.append(generation())
                subprocess.run(["backupfs", "backup", "--store", S, "--label", "two"], stdout=subprocess.DEVNULL, check=True)
                told.append(generation())
                records = S + "/repository/snapshots"
                for turn in range(10):
                    print(end="" if code(os.stat, "snapshots/one/export.json") == "ok" else "not there ")
                    for name in os.listdir(records): os.rename(f"{records}/{name}", R + "/home/" + name)
                    begin = time.monotonic()
                    told.append(generation())
                    print(end="" if code(os.stat, "snapshots/one/export.json") == "ENOENT" else "still there ")
                    print(end="" if time.monotonic() - begin < 3 else "slow ")
                    for name in os.listdir(R + "/home"): os.rename(R + "/home/" + name, f"{records}/{name}")
                    told.append(generation())
                print(all(now > before for before, now in zip(told, told[1:])), code(os.setxattr, "snapshots", "user.backupfs.generation", b"1"))
                """#)
            #expect(result == "True EROFS")
        }
    }

    /// While the process that serves the mount is stopped, only the kernel can answer.
    private static let stopping = #"""
        daemon = int(os.environ["DAEMON"])
        def without_backupfs(*checks):
            """Answers of functions while backupfs is stopped, each from a process that can be killed when it waits."""
            answers = []
            os.kill(daemon, signal.SIGSTOP)
            try:
                for check in checks:
                    child = os.fork()
                    if child == 0:
                        try: os._exit(0 if check() else 1)
                        except BaseException: os._exit(2)
                    limit = time.monotonic() + 3
                    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < limit: time.sleep(0.005)
                    if ended[0] == 0:
                        os.kill(child, signal.SIGKILL)
                        os.kill(daemon, signal.SIGCONT)
                        os.waitpid(child, 0)
                        answers.append("waits")
                        break
                    answers.append({0: "kept", 256: "other", 512: "failed"}[ended[1]])
            finally:
                os.kill(daemon, signal.SIGCONT)
            return answers

        """#

    @Test func `S38: the kernel keeps what it knows of a snapshot`() throws {
        try PhotoDiary.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.stopping + #"""
                    top = os.open("snapshots/one", os.O_RDONLY)
                    def at(path): return os.open(path, os.O_RDONLY, dir_fd=top)
                    def bytes_of(path):
                        with open(path, "rb", opener=lambda path, flags: at(path)) as file: return file.read()
                    def look():
                        photo = at("media/2024/summer/three.jpg")
                        whole = os.pread(photo, 300_000, 0)
                        # The kernel takes the time of access for changed when it has read from backupfs, and asks for it once.
                        size = os.stat("export.json", dir_fd=top).st_size + os.stat("media/2024/summer/three.jpg", dir_fd=top).st_size
                        # It keeps a listing from the second reading on, if the folder is new to it.
                        names = [os.listdir(data := at("data")) for _ in range(2)][1]
                        def absent(): return code(os.stat, "media/absent", dir_fd=top) == "ENOENT"
                        absent()
                        time.sleep(1.5)
                        return without_backupfs(
                            lambda: os.stat("export.json", dir_fd=top).st_size == size - 300_000,
                            lambda: os.stat("media/2024/summer/three.jpg", dir_fd=top).st_size == 300_000,
                            lambda: os.pread(photo, 300_000, 0) == whole,
                            lambda: os.listdir(data) == names,
                            absent)
                    # Short of memory, the kernel may drop what it keeps; not each time, though.
                    for attempt in range(3):
                        answers = look()
                        if set(answers) == {"kept"}: break
                    print(answers)
                    print(without_backupfs(lambda: json.loads(read("status.json"))), os.stat("status.json").st_size > 0)
                    """#, ["DAEMON": String(try #require(sandbox.daemons.first))])
            #expect(result == "['kept', 'kept', 'kept', 'kept', 'kept']\n['waits'] True")
        }
    }

    @Test func `S39: what changes is not kept, and hidden names are known to be absent`() throws {
        try PhotoDiary.withMount { sandbox in
            let result = try sandbox.python(
                Self.stopping + #"""
                    hidden = [folder + "/.git" for folder in (".", "live", "snapshots", "exports", "safety")]
                    def look():
                        return [code(os.stat, path) == "ENOENT" for path in hidden]
                    # The kernel asks for a folder's mode again after a second: what counts is that the names are kept within it.
                    for attempt in range(5):
                        look()
                        if (answers := without_backupfs(*[lambda path=path: code(os.stat, path) == "ENOENT" for path in hidden])) == ["kept"] * 5: break
                    print(answers)
                    print(code(os.stat, "restore/.x"), code(os.stat, "live/media/.x"), code(os.stat, "restore/y.part"))
                    for path in ("restore/.x", "restore/y.part", S + "/app/photos/.x"): open(path, "w").close()
                    print(code(os.stat, "restore/.x"), code(os.stat, "live/media/.x"), code(os.stat, "restore/y.part"))
                    for turn in range(5):
                        with sqlite3.connect(S + "/app/database.sqlite") as database:
                            database.execute("update photos set caption = ? where id = 1", ("long " * turn,))
                        told = os.stat("live/export.json").st_size
                        text = read("live/export.json")
                        with open(S + "/app/photos/one.jpg", "w") as photo: photo.write("x" * turn)
                        state = json.loads(read("status.json"))["snapshotCount"]
                        os.mkdir(f"snapshots/{turn}")
                        if (told != len(text) or json.loads(text)["photos"][0]["caption"] != "long " * turn or state != turn
                            or read("live/media/one.jpg") != b"x" * turn or json.loads(read("status.json"))["snapshotCount"] != turn + 1):
                            print("old", turn)
                    """#, ["DAEMON": String(try #require(sandbox.daemons.first))])
            #expect(result == "['kept', 'kept', 'kept', 'kept', 'kept']\nENOENT ENOENT ENOENT\nok ok ok")
        }
    }

    /// Requirement STA-10.
    @Test func `S40: inotify tells what is done through the mount`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let result = try sandbox.python(
                #"""
                watch = call("inotify_init")
                call("inotify_add_watch", watch, "snapshots", 0x3C0)
                os.mkdir("snapshots/one")
                os.rename("snapshots/one", "snapshots/two")
                os.rmdir("snapshots/two")
                events, data = [], os.read(watch, 4096)
                while data:
                    _, kind, _, length = struct.unpack_from("=iIII", data)
                    events.append((hex(kind & 0xFFF), data[16:16 + length].rstrip(b"\0").decode()))
                    data = data[16 + length:]
                print(events)
                """#)
            #expect(result == "[('0x100', 'one'), ('0x40', 'one'), ('0x80', 'two'), ('0x200', 'two')]")
        }
    }
}
