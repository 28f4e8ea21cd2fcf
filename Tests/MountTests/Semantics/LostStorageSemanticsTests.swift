import Glibc
import TestSupport
import Testing

/// Storage that disappears under the mount: its file system ends, or it is unmounted lazily.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LostStorageSemanticsTests {
    enum Loss: String, CaseIterable, Sendable { case killed, unmounted }

    private static let lost = """
        def check(lists_snapshots):
            for turn in range(3):
                told, code, took = look("ls", "-l", ".")
                assert code == 0 and "?" not in told and took < 3, (told, code, took)
                told, code, took = look("cat", "status.json")
                status = json.loads(told)
                assert code == 0 and took < 3 and status["repositoryError"] and status["repositoryAsOf"], (told, code, took)
                assert status["lastBackup"]["name"] == "one", told
                # What to do next.
                assert "ount" in status["repositoryError"] or "disk" in status["repositoryError"], told
                # An empty list would say that there are none.
                assert "Input/output error" in fails(("ls", "snapshots/"))
                for words in [("mkdir", "snapshots/two"), ("rmdir", "snapshots/one"), ("mv", "snapshots/one", "snapshots/three")]:
                    assert "Input/output error" in fails(words)

        """

    private func lose(_ disk: SandboxDisk, _ loss: Loss, _ sandbox: Sandbox) throws {
        switch loss {
        case .killed: try disk.kill(sandbox)
        case .unmounted: try disk.takeAway(sandbox)
        }
    }

    /// So that files of the repository are open when it goes.
    private static let reading = "cat $M/status.json $M/index.html $M/snapshots/one/data/cars.json >/dev/null"

    @Test(arguments: Loss.allCases)
    func `S75: a repository whose file system ends hides its backups only, says what to do, and is there again with it`(
        loss: Loss
    ) throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                try sandbox.sh(
                    "backupfs init --store $S --sample --repository $R/disk/repository; backupfs backup --store $S --label one")
                try sandbox.mount()
                try sandbox.sh(Self.reading)
                try lose(disk, loss, sandbox)
                try sandbox.looks(Self.lost + "check(False)\nanswers(('cat', 'live/export.json'))\n")
                // A thread of its own writes the log. Where nothing is mounted any more, the repository is simply not there.
                let remedy = loss == .killed ? "Check whether its disk" : "Check that its disk is connected and mounted"
                try sandbox.sh("wait_until grep -q '\(remedy)' $S/mount.log")
            }
            try sandbox.withDisk { _ in
                try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; mkdir $M/snapshots/two")
                try sandbox.sh("jq -e '.repositoryError == null and .snapshotCount == 2' $M/status.json")
                try sandbox.unmountStore()
            }
        }
    }

    @Test(arguments: Loss.allCases)
    func `S76: a store whose file system ends still tells its status, and is there again with it`(loss: Loss) throws {
        try Sandbox.use { sandbox in
            sandbox.variables["S"] = "\(sandbox.path)/disk/store"
            try sandbox.withDisk { disk in
                try sandbox.sh("backupfs init --store $S --sample; backupfs backup --store $S --label one")
                try sandbox.mount()
                try sandbox.sh(Self.reading)
                try lose(disk, loss, sandbox)
                try sandbox.looks(Self.lost + "check(False)\nfails(('cat', 'live/export.json'))\nanswers(('df', M))\n")
            }
            try sandbox.withDisk { _ in
                try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; mkdir $M/snapshots/two")
                try sandbox.sh("jq -e '.repositoryError == null and .snapshotCount == 2' $M/status.json")
                // An unreadable database is not retried all the time.
                try sandbox.sh("wait_until jq -e '.databaseError == null' $M/status.json")
                try sandbox.sh("jq -e .cars $M/live/export.json >/dev/null; cp $M/snapshots/one/export.json $M/restore/")
                try sandbox.unmountStore()
            }
        }
    }
}
