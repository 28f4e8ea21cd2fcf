import Glibc
import TestSupport
import Testing

/// A repository whose storage does not respond, or is gone: information that does not need it is returned immediately, and
/// nothing hangs forever.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct StalledRepositorySemanticsTests {
    /// A mounted store whose repository is on its own disk, with the backup `one`.
    private func withStore(_ extra: [String: String] = [:], _ body: (Sandbox, SandboxDisk) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                try sandbox.sh("backupfs init --store $S --sample --repository $R/disk/repository")
                try sandbox.mount(extra)
                try sandbox.sh("mkdir $M/snapshots/one; cat $M/status.json >/dev/null")
                try body(sandbox, disk)
                if sandbox.mounts.contains(sandbox.mountpoint) { try sandbox.unmountStore() }
            }
        }
    }

    @Test func `S64: while the repository stalls, the mount, its backups and its status are listed from memory`() throws {
        try withStore { sandbox, disk in
            disk.stall()
            try sandbox.looks(
                """
                slowest = 0
                for turn in range(5):
                    listed, code, took = look("ls", "-l", "snapshots/")
                    assert code == 0 and " one\\n" in listed and "latest -> one" in listed, (listed, code, took)
                    slowest = max(slowest, took)
                    listed, code, took = look("ls", "-l", ".")
                    assert code == 0 and "status.json" in listed and "?" not in listed, (listed, code, took)
                    slowest = max(slowest, took)
                    told, code, took = look("cat", "status.json")
                    assert code == 0, (told, code, took)
                    status = json.loads(told)
                    assert "does not answer" in status["repositoryError"], told
                    assert status["repositoryAsOf"].endswith("Z") and status["lastBackup"]["name"] == "one", told
                    assert status["records"]["expenses"] == 1200, told
                    slowest = max(slowest, took)
                # The machine may be busy with something else for a moment.
                assert slowest < 3, slowest
                """)
            disk.goOn()
            // After that, nothing outdated is shown, and no new mount is needed.
            try sandbox.sh("ls $M/snapshots/one/export.json; backupfs backup --store $S --label two; ls -d $M/snapshots/two")
            try sandbox.sh("jq -e '.repositoryError == null and .repositoryAsOf == null and .snapshotCount == 2' $M/status.json")
        }
    }

    @Test func `S65: what only the repository can answer waits, ends with its program, and delays no other request`() throws {
        try withStore { sandbox, disk in
            try sandbox.sh("head -c 3000000 /dev/urandom | base64 > $R/big; backupfs backup --store $S --label two")
            try sandbox.unmountStore()
            try sandbox.mount()
            disk.stall()
            try sandbox.looks(
                """
                readers = [subprocess.Popen(["cat", f"snapshots/{name}/{file}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for name in ["one", "two"] for file in ["export.json", "manifest.json", "archive.zip", "SHA256SUMS"] * 5]
                begun(readers)
                assert all(each.poll() is None for each in readers), "they wait"
                # Neither the live data nor what is in memory is behind them.
                for words in [("cat", "live/export.json"), ("ls", "snapshots/"), ("ls", "-l", "."), ("cat", "status.json")]:
                    told, code, took = look(*words)
                    assert code == 0 and took < 3, (words, told, code, took)
                for each in readers[::2]: each.kill()
                for each in readers[1::2]: each.terminate()
                for each in readers: assert ends(each) < 0
                """)
            disk.goOn()
            try sandbox.sh("cd $M/snapshots/two; sha256sum --quiet -c SHA256SUMS; cd ../one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test func `S66: while the repository stalls, changes are refused at once and change nothing`() throws {
        try withStore { sandbox, disk in
            disk.stall()
            try sandbox.looks(
                """
                for words in [("mkdir", "snapshots/two"), ("rmdir", "snapshots/one"), ("mv", "snapshots/one", "snapshots/three"),
                        ("setfattr", "-n", "user.backupfs.pinned", "-v", "1", "snapshots/one")]:
                    told, code, took = look(*words)
                    assert code not in (0, None) and "Input/output error" in told and took < 3, (words, told, code, took)
                """)
            try sandbox.sh("for n in $(seq 5); do ls -d $M/snapshots/none || true; done")
            disk.goOn()
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.pinned $M/snapshots/one") == "0")
            // Once, however many requests there were.
            #expect(try sandbox.sh("grep -c 'does not answer' $S/mount.log") == "1")
        }
    }

    @Test func `a reader gets an error in the end, and so does each that comes after it`() throws {
        try withStore(["BACKUPFS_STALL_SECONDS": "2"]) { sandbox, disk in
            try sandbox.unmountStore()
            try sandbox.mount(["BACKUPFS_STALL_SECONDS": "2"])
            disk.stall()
            try sandbox.looks(
                """
                told, code, took = look("cat", "snapshots/one/export.json", limit=20)
                assert code == 1 and "Input/output error" in told and took > 1.5, (told, code, took)
                readers = [subprocess.Popen(["cat", f"snapshots/one/{name}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    for name in ["export.json", "manifest.json", "archive.zip"] * 10]
                for each in readers: assert ends(each, 20) == 1
                """)
            disk.goOn()
            try sandbox.sh(
                "wait_until cat $M/snapshots/one/export.json")
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test(arguments: ["SIGTERM", "umount"])
    func `S67: a mount whose repository stalls ends all the same`(way: String) throws {
        try withStore { sandbox, disk in
            try sandbox.unmountStore()
            try sandbox.mount()
            disk.stall()
            let daemon = try #require(sandbox.daemons.first)
            try sandbox.looks(
                """
                reader = subprocess.Popen(["cat", "snapshots/one/export.json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                begun([reader])
                assert reader.poll() is None
                if "\(way)" == "umount":
                    reader.kill()
                    ends(reader)
                    os.chdir("/")
                    told, code, took = look("umount", M)
                    assert code == 0 and took < 5, (told, code, took)
                else:
                    os.kill(\(daemon), signal.SIGTERM)
                # It waits for the storage for a while.
                mounted = lambda: M in open("/proc/self/mounts").read()
                assert until(lambda: not mounted() and not os.path.exists("/proc/\(daemon)/exe"), 40), "it has not ended"
                ends(reader)
                """)
            disk.goOn()
            try sandbox.mount()
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test func `a backup begun by mkdir before the storage stalls is finished when it goes on`() throws {
        try withStore(["BACKUPFS_MKDIR_WAITS": "never", "BACKUPFS_FAULT": "backup.pack-written=pause:/nowhere"]) {
            sandbox, disk in
            try sandbox.sh("sync $M/snapshots/one; touch $R/pause")
            try sandbox.unmountStore()
            try sandbox.mount([
                "BACKUPFS_MKDIR_WAITS": "never", "BACKUPFS_FAULT": "backup.pack-written=pause:\(sandbox.path)/pause",
            ])
            try sandbox.sh("sqlite3 $S/app/database.sqlite \"update expenses set notes = 'new' where id = 1\"")
            try sandbox.sh("mkdir $M/snapshots/two")
            try sandbox.wait(for: "\(sandbox.path)/pause.reached")
            disk.stall()
            try sandbox.looks(
                """
                os.remove(R + "/pause")
                time.sleep(0.5)
                for turn in range(3):
                    told, code, took = look("ls", "-l", "snapshots/")
                    assert code == 0 and " two\\n" in told and took < 3, (told, code, took)
                    told, code, took = look("rmdir", "snapshots/one")
                    assert code == 1 and took < 3, (told, code, took)
                """)
            disk.goOn()
            try sandbox.sh(
                "sync $M/snapshots/two; for s in one two; do cd $M/snapshots/$s; sha256sum --quiet -c SHA256SUMS; done")
        }
    }

    @Test func `S68: a repository whose disk is taken away hides its backups only, and is there again with it`() throws {
        try withStore { sandbox, disk in
            try disk.takeAway(sandbox)
            try sandbox.looks(
                """
                told, code, took = look("ls", "-l", ".")
                assert code == 0 and "?" not in told and took < 3, (told, code, took)
                told, code, took = look("cat", "status.json")
                status = json.loads(told)
                assert code == 0 and took < 3 and status["repositoryError"] and status["repositoryAsOf"], (told, code, took)
                assert status["lastBackup"]["name"] == "one", told
                # An empty list would say that there are none.
                told, code, took = look("ls", "snapshots/")
                assert code == 2 and "Input/output error" in told and took < 3, (told, code, took)
                """)
            try sandbox.withDisk { _ in
                try sandbox.sh("ls $M/snapshots/one/export.json; mkdir $M/snapshots/two")
                try sandbox.sh("jq -e '.repositoryError == null and .snapshotCount == 2' $M/status.json")
                try sandbox.unmountStore()
            }
        }
    }
}
