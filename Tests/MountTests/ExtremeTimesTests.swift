import TestSupport
import Testing

/// Files whose times are outside the calendar: some file systems store them.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ExtremeTimesTests {
    @Test(
        .enabled(if: Machine.isRoot, "NOT TESTED: a tmpfs of one's own needs root"),
        arguments: ["photo-library", "$R/diary.yaml"])
    func `T-A7: no file's time ends the mount, a backup or a command`(app: String) throws {
        try Sandbox.use { sandbox in
            try sandbox.write(PhotoDiary.definition, to: "diary.yaml")
            try sandbox.sh("mkdir $R/photos; mount -t tmpfs none $R/photos")
            try sandbox.python(
                """
                os.chdir(R + "/photos")
                for number, seconds in enumerate((-2**63, -2**63 + 1, -2**62, -62135596801, -1, 0, 1, 253402300800, 2**62, 2**63 - 1)):
                    name = f"{number}.jpg"
                    open(name, "w").write(name)
                    os.utime(name, ns=(seconds * 10**9, seconds * 10**9))
                os.utime(".", ns=(-2**63 * 10**9, -2**63 * 10**9))
                """)
            try sandbox.sh("backupfs init --store $S --app \(app) --media $R/photos; backupfs mount --store $S $M")
            let daemons = sandbox.daemons
            try sandbox.sh(
                """
                ls -lR $M/live >/dev/null; cat $M/live/archive.tar $M/live/archive.zip >/dev/null; cat $M/live/export.json >/dev/null
                mkdir $M/snapshots/a; ls -lR $M/snapshots/a >/dev/null; cat $M/snapshots/a/archive.tar $M/snapshots/a/archive.zip >/dev/null
                rm $R/photos/4.jpg; mkdir $M/snapshots/b; cat $M/status.json >/dev/null
                for command in "ls a" "find *.jpg" "diff a b" "snapshots" "stats a" "status"; do
                set -f; backupfs $command --json --store $S >/dev/null; backupfs $command --store $S >/dev/null; done
                cmp $M/snapshots/a/media/0.jpg $R/photos/0.jpg
                """)
            for command in ["verify a", "restore a --target $R/copy"] {
                let result = try sandbox.run("backupfs \(command) --store $S")
                #expect([0, 1].contains(result.exitCode), "\(command): \(result.exitCode) \(result.text)")
            }
            #expect(sandbox.daemons == daemons, "the mount lives")
            try sandbox.sh("umount -l $R/photos")
            try sandbox.unmount()
        }
    }
}
