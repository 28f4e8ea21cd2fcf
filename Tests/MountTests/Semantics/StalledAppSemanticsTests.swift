import Glibc
import TestSupport
import Testing

/// An app whose database or media folder is on storage that does not respond.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct StalledAppSemanticsTests {
    /// The part on the stalling disk; the other one, and the store, are not on it.
    enum Part: String, CaseIterable, Sendable { case database, media }

    /// A mounted store with the backup `one` of an app with three photos.
    private func withStore(_ part: Part, _ extra: [String: String] = [:], _ body: (Sandbox, SandboxDisk) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                let places = ["D": part == .database ? disk.path : sandbox.path, "P": part == .media ? disk.path : sandbox.path]
                sandbox.variables.merge(places.mapValues { "\($0)/app" }) { $1 }
                try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
                try sandbox.sh(
                    """
                    mkdir -p $D $P/photos; backupfs init --store $R/other --app $R/diary.yaml; cp $R/other/app/database.sqlite $D/
                    cd $P/photos; printf one > one.jpg; mkdir 2024; head -c 300000 /dev/urandom > 2024/two.jpg
                    sqlite3 $D/database.sqlite "insert into photos values (1,'one.jpg','first'),(2,'2024/two.jpg',null)"
                    backupfs init --store $S --app $R/diary.yaml --database $D/database.sqlite --media $P/photos
                    backupfs backup --store $S --label one
                    """)
                try sandbox.mount(extra)
                try sandbox.sh("cat $M/status.json >/dev/null")
                try body(sandbox, disk)
                if sandbox.mounts.contains(sandbox.mountpoint) { try sandbox.unmountStore() }
            }
        }
    }

    @Test(arguments: Part.allCases)
    func `S73: while the app's database or media folder stalls, all but live data answers, and who waits for that can be ended`(
        part: Part
    ) throws {
        try withStore(part) { sandbox, disk in
            disk.stall()
            try sandbox.looks(
                """
                times = []
                for turn in range(5):
                    for words in lists + [("df", M), ("cat", "snapshots/one/media/one.jpg"), ("ls", "exports/", "restore/", "safety/")]:
                        begin = time.monotonic()
                        answers(words)
                        times.append(time.monotonic() - begin)
                assert sorted(times)[len(times) // 2] < 0.2, times
                waiting = [start(*words) for words in [("cat", "live/export.json"), ("cat", "live/archive.zip"), ("ls", "-l", "live/media"),
                    ("cat", "live/media/one.jpg"), ("cat", "live/database.sqlite")] for turn in range(12)]
                begun(waiting)
                for words in lists + [("sha256sum", "snapshots/one/media/2024/two.jpg")]: answers(words)
                for each in waiting[::2]: each.terminate()
                for each in waiting[1::2]: each.kill()
                for each in waiting: ends(each)
                if "\(part)" == "database":
                    told = lambda: json.loads(answers(("cat", "status.json")))
                    assert until(lambda: told()["databaseError"], 20) and "does not answer" in told()["databaseError"], told()
                    assert told()["records"]["photos"] == 2, told()
                """)
            disk.goOn()
            try sandbox.sh("cd $M/snapshots/one; sha256sum --quiet -c SHA256SUMS; cmp media/2024/two.jpg $P/photos/2024/two.jpg")
            try sandbox.sh(
                "cmp $M/live/media/2024/two.jpg $P/photos/2024/two.jpg; jq -e .photos $M/live/export.json; mkdir $M/snapshots/two"
            )
            try sandbox.sh(
                "wait_until jq -e '.databaseError == null' $M/status.json")
        }
    }

    @Test(arguments: Part.allCases)
    func `S74: a backup that meets an app's storage which stalls blocks nothing else, and can be cancelled`(part: Part) throws {
        try withStore(part, ["BACKUPFS_MKDIR_WAITS": "never"]) { sandbox, disk in
            disk.stall()
            try sandbox.looks(
                """
                told, code, took = look("mkdir", "snapshots/two")
                assert code == 0 and took < 4, (told, code, took)
                for words in lists + [("cat", "snapshots/one/media/one.jpg")]: answers(words)
                if "\(part)" == "media": assert "busy" in fails(("mkdir", "snapshots/three"), bound=4)
                # It is asked to end, and does so as soon as the storage answers.
                assert "busy" in fails(("rmdir", "snapshots/two"), bound=4)
                for words in lists: answers(words)
                """)
            disk.goOn()
            try sandbox.sh("wait_until '! ls -d $M/snapshots/two'")
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
            try sandbox.sh("mkdir $M/snapshots/two; sync $M/snapshots/two; cd $M/snapshots/two; sha256sum --quiet -c SHA256SUMS")
        }
    }

    @Test(arguments: Part.allCases)
    func `a backup command that meets an app's storage which stalls ends at SIGTERM`(part: Part) throws {
        try withStore(part) { sandbox, disk in
            try sandbox.unmountStore()
            disk.stall()
            try sandbox.looks(
                """
                command = subprocess.Popen(["backupfs", "backup", "--store", S], stderr=subprocess.PIPE, text=True)
                begun([command])
                command.terminate()
                assert ends(command, 40) in (130, -15), command.returncode
                """)
            disk.goOn()
            try sandbox.sh("backupfs backup --store $S --label two; backupfs check --read-data --store $S")
        }
    }
}
