import TestSupport
import Testing

/// Backups that are unfinished when `mkdir` returns, as promised in `Docs/reference/semantics.md` (CON-02, T-A6).
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct PendingBackupSemanticsTests {
    /// A store with a backup "one"; the next backup waits until `$R/pause` is removed.
    private func withPause(_ waits: String, point: String = "backup.writing", _ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                "backupfs init --store $S --sample >/dev/null; backupfs backup --store $S --label one >/dev/null; touch $R/pause")
            sandbox.variables["BACKUPFS_MKDIR_WAITS"] = waits
            try sandbox.mount(["BACKUPFS_FAULT": "\(point)=pause:\(sandbox.path)/pause"])
            try body(sandbox)
            try sandbox.unmount()
        }
    }

    /// Starts a program that signals can end, even if the tests were started with signals ignored.
    private static let start = """
        def start(command):
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

        """

    /// Requirement CON-02.
    @Test func `S55: mkdir answers after two seconds with a folder that is pending`() throws {
        try withPause("2s") { sandbox in
            let result = try sandbox.python(
                #"""
                begin = time.monotonic()
                os.mkdir("snapshots/two")
                took = time.monotonic() - begin
                print(1.9 < took < 8, os.getxattr("snapshots/two", "user.backupfs.state"), os.listxattr("snapshots/two"))
                times = []
                for turn in range(20):
                    begin = time.monotonic()
                    names, listed = sorted(os.listdir("snapshots")), os.lstat("snapshots/two")
                    os.stat("snapshots/latest"), read("snapshots/one/export.json"), read("status.json")
                    times.append(time.monotonic() - begin)
                print(names, stat.S_ISDIR(listed.st_mode), sorted(times)[10] < 0.3)
                print(os.readlink("snapshots/latest"), code(os.mkdir, "snapshots/two"), code(os.mkdir, "snapshots/three"),
                      code(os.rename, "snapshots/two", "snapshots/three"), code(os.stat, "snapshots/two/.hidden"))
                print(json.loads(read("status.json"))["state"])
                os.unlink(R + "/pause")
                print(len(read("snapshots/two/export.json")) > 1000, os.getxattr("snapshots/two", "user.backupfs.state"))
                print(os.stat("snapshots/two").st_ino == listed.st_ino, json.loads(read("status.json"))["state"])
                """#)
            #expect(
                result == """
                    True b'pending' ['user.backupfs.pinned', 'user.backupfs.state']
                    ['latest', 'one', 'two'] True True
                    two EEXIST EBUSY EBUSY ENOENT
                    running
                    True b'finished'
                    True idle
                    """)
            try sandbox.sh(
                "cd $M/snapshots/two; sha256sum --quiet --strict -c SHA256SUMS; unzip -tqq archive.zip; backupfs check --store $S"
            )
        }
    }

    @Test func `who lists snapshots does not wait for the two seconds of a mkdir in it`() throws {
        try withPause("2s") { sandbox in
            let result = try sandbox.python(
                Self.start + """
                    maker = start(["mkdir", "snapshots/two"])
                    # It has begun, and the kernel has the folder locked.
                    assert until(lambda: json.loads(read("status.json"))["operation"]), "it has not begun"
                    begin = time.monotonic()
                    names = sorted(os.listdir("snapshots"))
                    took = time.monotonic() - begin
                    print(names, took < 1 or took, maker.wait(10))
                    os.unlink(R + "/pause")
                    print(len(read("snapshots/two/export.json")) > 1000)
                    """)
            #expect(result == "['latest', 'one', 'two'] True 0\nTrue")
        }
    }

    @Test func `S56: a look into a pending folder waits until the backup is finished, and a signal ends the wait`() throws {
        try withPause("never") { sandbox in
            let result = try sandbox.python(
                Self.start + #"""
                    os.mkdir("snapshots/two")
                    looks = [["cat", "snapshots/two/export.json"], ["ls", "snapshots/two"], ["cat", "snapshots/latest/manifest.json"],
                             ["getfattr", "-n", "user.backupfs.created-at", "snapshots/two"], ["sync", "snapshots/two"],
                             ["stat", "snapshots/two/data/cars.json"], ["sh", "-c", "cd snapshots/two && sha256sum -c SHA256SUMS"]]
                    # More than there are threads.
                    waiting = [start(look) for look in looks * 6]
                    ended = [start(look) for look in looks[:4] * 6]
                    def asleep(process):
                        return open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[0] in "SD"
                    until(lambda: all(map(asleep, waiting + ended)))
                    for process in ended: process.send_signal(signal.SIGINT)
                    print({process.wait(20) for process in ended}, {process.poll() for process in waiting})
                    print(code(os.listdir, "live"), code(os.listdir, "snapshots"), code(os.stat, "snapshots/two/none"),
                          code(os.setxattr, "snapshots/two", "user.backupfs.pinned", b"1"))
                    os.unlink(R + "/pause")
                    print({process.wait(60) for process in waiting})
                    print(os.getxattr("snapshots/two", "user.backupfs.pinned"))
                    """#)
            #expect(result == "{-2} {None}\nok ok ENOENT ok\n{0}\nb'1'")
        }
    }

    @Test func `S57: a backup that fails goes, and a file beside it says why`() throws {
        try withPause("never", point: "backup.record-written") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/two")
                until(lambda: os.path.exists(R + "/pause.reached"))
                waiting = subprocess.Popen(["sync", "snapshots/two"], stderr=subprocess.PIPE, text=True)
                until(lambda: open(f"/proc/{waiting.pid}/wchan").read().startswith(("request_wait", "fuse")))
                # The repository's disk goes away.
                os.rename(S + "/repository", S + "/gone")
                os.unlink(R + "/pause")
                print(waiting.wait(60) != 0)
                os.rename(S + "/gone", S + "/repository")
                print(until(lambda: "two" not in os.listdir("snapshots")), sorted(os.listdir("snapshots")), os.readlink("snapshots/latest"))
                print(read("snapshots/two.error.txt").decode().startswith("The backup two: "), json.loads(read("status.json"))["lastError"]["operation"])
                os.unlink("snapshots/two.error.txt")
                print(code(os.mkdir, "snapshots/two"), code(lambda: read("snapshots/two/export.json")), sorted(os.listdir("snapshots")))
                """#)
            #expect(
                result == """
                    True
                    True ['latest', 'one', 'two.error.txt'] one
                    True backup
                    ok ok ['latest', 'one', 'two']
                    """)
        }
    }

    @Test func `S58: rmdir of a pending folder and a signal to a waiting mkdir end the backup`() throws {
        for kind in ["SIGINT", "SIGTERM", "SIGKILL"] {
            try withPause("always") { sandbox in
                let result = try sandbox.python(
                    Self.start + #"""
                        making = start(["mkdir", "snapshots/two"])
                        until(lambda: os.path.exists(R + "/pause.reached"))
                        # A signal that does not end it is no reason to stop.
                        making.send_signal(signal.SIGWINCH)
                        making.send_signal(getattr(signal, os.environ["KIND"]))
                        print(making.wait(20) < 0, sorted(os.listdir("snapshots")))
                        """#, ["KIND": kind])
                #expect(result == "True ['latest', 'one']")
            }
        }
        try withPause("never") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/two")
                until(lambda: os.path.exists(R + "/pause.reached"))
                # Programs that wait for it are in the way of nothing.
                waiting = [subprocess.Popen(look, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                           for look in [["ls", "snapshots/two"], ["cat", "snapshots/two/export.json"], ["stat", "snapshots/two/data/cars.json"]] * 3]
                begun(waiting)
                print(code(os.rmdir, "snapshots/two"), sorted(os.listdir("snapshots")), json.loads(read("status.json"))["state"])
                print({process.wait(20) > 0 for process in waiting})
                print(code(os.mkdir, "snapshots/two"), code(os.listdir, "snapshots/two"))
                """#)
            #expect(result == "ok ['latest', 'one'] idle\n{True}\nok ok")
        }
    }

    @Test func `S59: a backup that is not finished when the store is unmounted is brought to its end`() throws {
        try withPause("never") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/two; wait_until [ -e $R/pause.reached ]")
            let unmount = try sandbox.start("backupfs umount --store $S 2>$R/said; echo $? > $R/ended")
            try sandbox.wait(for: "\(sandbox.path)/said")
            try sandbox.sh("wait_until grep -q 'finishes what runs: ' $R/said")
            #expect(sandbox.mounts.isEmpty)
            try sandbox.fails("backupfs mount --store $S $M", saying: "finishes what runs", exitCode: 11)
            try sandbox.sh("rm $R/pause")
            _ = try unmount.wait(limitSeconds: 60)
            #expect(
                try sandbox.sh("cat $R/ended; backupfs snapshots --store $S --json | jq -r '.[].name' | sort | xargs")
                    == "0\none two")
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/two; sha256sum --quiet --strict -c SHA256SUMS")
        }
        // Or it is cancelled.
        try withPause("never") { sandbox in
            try sandbox.sh(
                "mkdir $M/snapshots/two; wait_until [ -e $R/pause.reached ]; fusermount3 -u $M; backupfs cancel --store $S"
            )
            #expect(sandbox.waitForProcesses())
            #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "one")
            try sandbox.mount()
        }
    }

    @Test func `S60: rmdir of a pending backup that is pinned is EPERM, and the backup goes on`() throws {
        try withPause("never") { sandbox in
            let result = try sandbox.python(
                #"""
                os.mkdir("snapshots/two")
                os.setxattr("snapshots/two", "user.backupfs.pinned", b"1")
                print(code(os.rmdir, "snapshots/two"), os.getxattr("snapshots/two", "user.backupfs.state"))
                os.unlink(R + "/pause")
                print(len(read("snapshots/two/export.json")) > 1000, os.getxattr("snapshots/two", "user.backupfs.pinned"))
                print(code(os.rmdir, "snapshots/two"), sorted(os.listdir("snapshots")))
                """#)
            #expect(result == "EPERM b'pending'\nTrue b'1'\nEPERM ['latest', 'one', 'two']")
        }
    }

    @Test func `S61: mkdir is EBUSY by itself while another operation runs, however short it waits`() throws {
        try withPause("never") { sandbox in
            // Backups of this store, and of another one with the same repository.
            try sandbox.sh(
                """
                backupfs init --store $R/other --sample --repository $S/repository --new-source >/dev/null
                touch $R/hold
                """)
            for store in ["$S", "$R/other"] {
                let holder = try sandbox.start(
                    "exec backupfs backup --store \(store) --label held-$(basename \(store)) >/dev/null",
                    ["BACKUPFS_FAULT": "backup.writing=pause:\(sandbox.path)/hold"])
                try sandbox.wait(for: "\(sandbox.path)/hold.reached")
                let result = try sandbox.python(
                    #"""
                    begin = time.monotonic()
                    print(code(os.mkdir, "snapshots/two"), time.monotonic() - begin < 5, "two" in " ".join(os.listdir("snapshots")))
                    """#)
                #expect(result == "EBUSY True False", "\(store)")
                try sandbox.sh("rm $R/hold $R/hold.reached")
                #expect(try holder.wait(limitSeconds: 60).exitCode == 0)
                try sandbox.sh("touch $R/hold")
            }
            // A backup that has started is not waited for.
            let result = try sandbox.python(
                #"""
                begin = time.monotonic()
                os.mkdir("snapshots/two")
                print(time.monotonic() - begin < 2, os.getxattr("snapshots/two", "user.backupfs.state"))
                os.unlink(R + "/pause")
                print(code(os.listdir, "snapshots/two"))
                """#)
            #expect(result == "True b'pending'\nok")
        }
    }

    @Test func `S62: a backup whose name another store takes meanwhile is made under the next name`() throws {
        for waits in ["never", "always"] {
            try withPause(waits, point: "backup.catalog-updated") { sandbox in
                try sandbox.sh(
                    """
                    backupfs init --store $R/other --sample --repository $S/repository --new-source >/dev/null
                    backupfs backup --store $R/other --label x >/dev/null; mkdir $R/elsewhere; backupfs mount --store $R/other $R/elsewhere
                    """)
                let result = try sandbox.python(
                    #"""
                    answers = []
                    making = threading.Thread(target=lambda: answers.append(code(os.mkdir, "snapshots/two")))
                    making.start()
                    until(lambda: os.path.exists(R + "/pause.reached"))
                    os.rename(R + "/elsewhere/snapshots/x", R + "/elsewhere/snapshots/two")
                    subprocess.run(["fusermount3", "-u", R + "/elsewhere"], check=True)
                    os.unlink(R + "/pause")
                    making.join()
                    until(lambda: json.loads(read("status.json"))["state"] == "idle")
                    print(answers, sorted(os.listdir("snapshots")), os.readlink("snapshots/latest"))
                    print(len(read("snapshots/two_2/export.json")) > 1000, json.loads(read("status.json"))["lastBackup"]["name"])
                    print(json.loads(read("status.json"))["lastBackup"]["warnings"])
                    if os.path.exists("snapshots/two.error.txt"): print(read("snapshots/two.error.txt").decode(), end="")
                    """#)
                let said = "another backup took the name two while this one was made: it is called two_2"
                let isWaiting = waits == "always"
                let names = ["latest", "one", "two"] + (isWaiting ? [] : ["two.error.txt"]) + ["two_2"]
                #expect(
                    result == """
                        ['\(isWaiting ? "EEXIST" : "ok")'] [\(names.map { "'\($0)'" }.joined(separator: ", "))] two_2
                        True two_2
                        ['\(said)']\(isWaiting ? "" : "\nThe backup two: \(said)")
                        """)
                try sandbox.sh("backupfs check --store $S")
            }
        }
    }
}
