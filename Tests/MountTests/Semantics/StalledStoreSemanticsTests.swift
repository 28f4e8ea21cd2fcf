import Glibc
import TestSupport
import Testing

/// A store on storage that does not respond, with its settings, spool, logs, repository and the app's data.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct StalledStoreSemanticsTests {
    /// A mounted store with the default layout on its own disk, with the backup `one`. The mount has not been accessed yet.
    private func withStore(_ extra: [String: String] = [:], _ body: (Sandbox, SandboxDisk) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                sandbox.variables["S"] = "\(disk.path)/store"
                try sandbox.sh("backupfs init --store $S --sample; backupfs backup --store $S --label one")
                try sandbox.mount(extra)
                try body(sandbox, disk)
                if sandbox.mounts.contains(sandbox.mountpoint) { try sandbox.unmountStore() }
            }
        }
    }

    @Test func `S69: while the whole store stalls, the mount, its backups, its status and df come from memory`() throws {
        try withStore { sandbox, disk in
            disk.stall()
            try sandbox.looks(
                """
                def times():
                    for words in 5 * (lists + [("df", M)]):
                        told, code, took = look_within(3, words)
                        assert code == 0 and "?" not in told, (words, told, code, took)
                        yield took
                        if words[-1] == "snapshots/": assert " one\\n" in told and "latest -> one" in told, told
                        if words[-1] == "status.json":
                            status = json.loads(told)
                            assert "does not answer" in status["repositoryError"] and status["lastBackup"]["name"] == "one", told
                            # They may not have been read before the stall.
                            assert status["records"] is None and status["databaseError"] or status["records"]["expenses"] == 1200, told
                assert until(lambda: (found := sorted(times()))[len(found) // 2] < 0.2, 60)
                """)
            disk.goOn()
            try sandbox.sh("mkdir $M/snapshots/two; jq -e '.repositoryError == null and .snapshotCount == 2' $M/status.json")
            try sandbox.sh(
                "for s in one two; do cd $M/snapshots/$s; sha256sum --quiet -c SHA256SUMS; done; jq -e .cars $M/live/export.json >/dev/null"
            )
        }
    }

    @Test
    func `S70: while the whole store stalls, changes are refused within two seconds, and who only looks does not wait for them`()
        throws
    {
        try withStore { sandbox, disk in
            disk.stall()
            try sandbox.looks(
                """
                # A machine that is busy with something else gets several attempts.
                for turn in range(5):
                    maker = subprocess.Popen(["mkdir", "snapshots/two"], stderr=subprocess.PIPE, text=True)
                    # The kernel keeps the folder locked from here on.
                    begun([maker])
                    told, code, took = look("ls", "snapshots/")
                    listed = time.monotonic()
                    assert ends(maker, 30) == 1 and "Input/output error" in maker.stderr.read()
                    if code == 0 and took < 1 and time.monotonic() - listed < 4: break
                else: raise AssertionError((told, code, took))
                for words in [("mkdir", "snapshots/two"), ("rmdir", "snapshots/one"), ("mv", "snapshots/one", "snapshots/three"),
                        ("setfattr", "-n", "user.backupfs.pinned", "-v", "1", "snapshots/one")]:
                    assert "Input/output error" in fails(words), words
                """)
            disk.goOn()
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
        }
    }

    @Test func `S71: what waits for a store that stalls ends with its program, and blocks nothing else`() throws {
        try withStore { sandbox, disk in
            try sandbox.write("{", to: "drop.json")
            disk.stall()
            try sandbox.looks(
                """
                waiting = [start(*words) for words in [("cat", "live/export.json"), ("ls", "live/"), ("ls", "restore/"), ("ls", "exports/"),
                    ("cat", "snapshots/one/export.json"), ("cp", R + "/drop.json", "restore/a.json"),
                    ("cp", R + "/drop.json", "restore/preview/b.json")] for turn in range(12)]
                begun(waiting)
                for words in lists: answers(words)
                for each in waiting[::2]: each.terminate()
                for each in waiting[1::2]: each.kill()
                for each in waiting: ends(each)
                for words in lists: answers(words)
                """)
            disk.goOn()
            try sandbox.sh(
                "jq -e .cars $M/live/export.json >/dev/null; ls $M/restore; cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test(arguments: [true, false])
    func `S72: SIGTERM ends a mount whose whole store stalls`(programWaits: Bool) throws {
        try withStore { sandbox, disk in
            disk.stall()
            let daemon = try #require(sandbox.daemons.first)
            try sandbox.looks(
                """
                for words in lists: answers(words)
                reader = start("cat", "live/export.json") if \(programWaits ? "True" : "False") else None
                os.chdir("/")
                os.kill(\(daemon), signal.SIGTERM)
                mounted = lambda: M in open("/proc/self/mounts").read()
                assert until(lambda: not mounted() and not os.path.exists("/proc/\(daemon)/exe"), 60), "it has not ended"
                if reader: ends(reader)
                """)
            disk.goOn()
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; mkdir $M/snapshots/two")
        }
    }

    @Test func `SIGTERM ends the mount also while it reads the settings for SIGHUP`() throws {
        try withStore { sandbox, disk in
            disk.stall()
            let daemon = try #require(sandbox.daemons.first)
            try sandbox.looks(
                """
                import types
                os.chdir("/")
                os.kill(\(daemon), signal.SIGHUP)
                assert until(lambda: waits(types.SimpleNamespace(pid=\(daemon)))), "it reads the settings"
                os.kill(\(daemon), signal.SIGTERM)
                mounted = lambda: M in open("/proc/self/mounts").read()
                assert until(lambda: not mounted() and not os.path.exists("/proc/\(daemon)/exe"), 60), "it has not ended"
                """)
            disk.goOn()
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test func `the last SIGHUP counts that comes while the store stalls`() throws {
        try withStore { sandbox, disk in
            // Nothing else reads the settings there.
            try sandbox.unmountStore()
            try sandbox.mount(options: "-o ro")
            disk.stall()
            let daemon = try #require(sandbox.daemons.first)
            try sandbox.looks(
                """
                import types
                os.kill(\(daemon), signal.SIGHUP)
                assert until(lambda: waits(types.SimpleNamespace(pid=\(daemon)))), "it reads the settings"
                settings = R + "/disk.files/store/store.yaml"
                text = open(settings).read()
                assert "# End of settings" in text
                with open(settings, "w") as file: file.write(text.replace("# End of settings", 'language: "de"\\n# End of settings'))
                os.kill(\(daemon), signal.SIGHUP)
                """)
            disk.goOn()
            try sandbox.sh("wait_until grep -q Sicherungen $M/README.txt")
        }
    }
}
