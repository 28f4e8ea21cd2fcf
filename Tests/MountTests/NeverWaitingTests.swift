import TestSupport
import Testing

/// What access to the mount does not wait for, and which resources it does not keep.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct NeverWaitingTests {
    /// An app that keeps its database locked, until `$R/locked` is removed.
    private static let lock = """
        database = sqlite3.connect(S + "/app/database.sqlite", isolation_level=None)
        database.execute("pragma locking_mode = exclusive")
        # What has changed since the last look has to be counted again, and the lock stays.
        database.execute("update expenses set notes = 'locked' where id = 1")
        database.execute("begin exclusive")
        """

    @Test func `T-A5: while the app keeps its database locked, ls and status.json answer at once`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite 'pragma journal_mode = delete' >/dev/null; cat $M/status.json >/dev/null")
            try sandbox.python(
                Self.lock + """

                    def look():
                        for name in os.listdir(M):
                            os.lstat(M + "/" + name)
                    def first(action):
                        # A look that waited for the lock would take five seconds.
                        start = time.monotonic()
                        action()
                        assert time.monotonic() - start < 3, time.monotonic() - start
                    for action in look, lambda: read("status.json"):
                        first(action)
                    assert until(lambda: json.loads(read("status.json"))["databaseError"]), "it is locked"
                    for action in look, lambda: read("status.json"):
                        first(action)
                        assert answers_in(0.05, action), "it takes longer each time"
                    """)
            // The mount soon notices that the lock is gone.
            try sandbox.sh(
                "wait_until jq -e '.records.expenses' $M/status.json")
        }
    }

    @Test func `T-A5: a monitor is answered as quickly`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'pragma journal_mode = delete' >/dev/null")
            try sandbox.python(
                Self.lock + """

                    start = time.monotonic()
                    done = subprocess.run(["backupfs", "status", "--json", "--store", S], capture_output=True, text=True)
                    took = time.monotonic() - start
                    assert "locked" in json.loads(done.stdout)["databaseError"], done.stdout
                    assert took < 3, took
                    """)
        }
    }

    @Test func `T-A14: however many wait for the live data, the rest of the mount answers`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'pragma journal_mode = delete' >/dev/null; mkdir $M/snapshots/one")
            let result = try sandbox.python(
                Self.lock + """

                    waiting = [subprocess.Popen(["cat", "live/export.json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for n in range(40)]
                    begun(waiting)
                    start = time.monotonic()
                    listed = subprocess.run(["ls", "restore", "snapshots/one", "status.json"], capture_output=True, text=True, timeout=60)
                    took = time.monotonic() - start
                    assert listed.returncode == 0, listed.stderr
                    database.execute("rollback")
                    database.close()
                    ended = [each.wait(120) for each in waiting]
                    assert 0 in ended, ended
                    print(took)
                    """)
            #expect(try #require(Double(result)) < 2, "\(result) s")
            // Queued requests have been answered, and new ones are.
            try sandbox.sh(
                "for n in $(seq 30); do cat $M/live/export.json >/dev/null & done; wait; jq -e .cars $M/live/export.json >/dev/null"
            )
        }
    }

    @Test func `T-A13: the rendering of live data is let go of when nothing has looked at it for a while`() throws {
        try Sandbox.withMount("--sample", ["BACKUPFS_LIVE_SECONDS": "1"]) { sandbox in
            let daemon = try #require(sandbox.daemons.first)
            let held = "ls -l /proc/\(daemon)/fd | grep -c 'live.*(deleted)' || true"
            try sandbox.sh(
                "exec 5<$M/live/export.json; head -c 10 <&5 >/dev/null; sleep 2; [ $(\(held)) -gt 0 ]; cat <&5 | tail -c 3 >/dev/null"
            )
            try sandbox.sh("wait_until \"[ \\$(\(held)) = 0 ]\"")
            // It is rendered again at the next access.
            try sandbox.sh("jq -e .cars $M/live/export.json >/dev/null; [ $(\(held)) -gt 0 ]")
        }
    }

    @Test func `T-A20: a folder tree deeper than the usual limit of open files is listed and backed up`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.python(
                """
                os.chdir(S + "/app/photos")
                for depth in range(120):
                    os.mkdir("d")
                    os.chdir("d")
                open("deep.jpg", "w").write("deep")
                """)
            let path = String(repeating: "d/", count: 120) + "deep.jpg"
            try sandbox.sh("ulimit -Sn 80; backupfs mount --store $S $M")
            try sandbox.sh(
                "cat $M/live/media/\(path) >/dev/null; mkdir $M/snapshots/one; cat $M/snapshots/one/media/\(path) >/dev/null")
            try sandbox.sh("touch $S/app/photos/\(path); ulimit -Sn 80; backupfs backup --store $S --label two")
            #expect(try sandbox.sh("jq -c .unreadable $M/snapshots/two/manifest.json") == "[]")
            try sandbox.unmount()
        }
    }

    @Test func `T-A20: a backup that runs out of descriptors fails, and is not one with holes`() throws {
        try Sandbox.use { sandbox in
            try PhotoDiary.setUp(sandbox)
            try sandbox.sh("cd $P; for n in $(seq 100); do mkdir d; cd d; done; echo deep > deep.jpg")
            let result = try sandbox.run("ulimit -n 60; backupfs backup --store $S --label one")
            #expect(result.exitCode == 1 && result.text.contains("Too many open files"), "\(result.exitCode): \(result.text)")
            #expect(try sandbox.sh("backupfs snapshots --store $S --json") == "[]")
            try sandbox.sh("backupfs backup --store $S --label one")
        }
    }
}
