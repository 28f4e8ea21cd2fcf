import TestSupport
import Testing

/// `control/`, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ControlSemanticsTests {
    @Test func `S94: files in control make, check, pin and verify backups`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            #expect(try sandbox.names("control") == ["backup", "cancel", "check", "pin", "prune", "unpin", "verify"])
            #expect(try sandbox.sh("grep -c 'to back up now' $M/control/backup") == "1")
            // The time that is set after the write is not another request.
            try sandbox.sh(
                "cd $M/control; echo first > backup; touch backup; wait_until '! grep -q Running backup'")
            #expect(try sandbox.sh("tail -n 1 $M/control/backup") == "The backup first was made.")
            #expect(try sandbox.names("snapshots") == ["first", "latest"])
            // What cannot be is the result of close, and in the text.
            try sandbox.fails("echo first | tee $M/control/backup", saying: "File exists")
            try sandbox.sh("grep -q 'there is a backup of that name already' $M/control/backup")
            try sandbox.fails("echo | tee $M/control/pin", saying: "Invalid argument")
            try sandbox.fails("echo none | tee $M/control/pin", saying: "No such file")
            try sandbox.sh("echo first > $M/control/pin")
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.pinned $M/snapshots/first") == "1")
            try sandbox.sh("echo first > $M/control/unpin; rmdir $M/snapshots/first; echo > $M/control/backup")
            try sandbox.sh("wait_until 'test -e $M/snapshots/2026-01-11_14-30-00'")
            for verb in ["verify", "check", "prune"] {
                try sandbox.sh("wait_until 'touch $M/control/\(verb) 2>/dev/null'")
                try sandbox.sh("wait_until 'grep -q Ended $M/control/\(verb)'")
            }
            #expect(try sandbox.sh("tail -n 1 $M/control/check") == "No damage was found.")
            #expect(try sandbox.sh("grep -c 'can be restored: ' $M/control/verify") == "1")
            #expect(try sandbox.sh("cd $M/control; echo > cancel; tail -n 1 cancel") == "Nothing is running.")
        }
    }

    private static func withPause(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample >/dev/null; touch $R/pause")
            try sandbox.mount(["BACKUPFS_FAULT": "backup.writing=pause:\(sandbox.path)/pause"])
            try sandbox.sh("echo two > $M/control/backup; wait_until [ -e $R/pause.reached ]")
            try body(sandbox)
            #expect(sandbox.waitForProcesses())
        }
    }

    @Test func `a long request keeps no other waiting, and can be cancelled`() throws {
        try Self.withPause { sandbox in
            try sandbox.sh("timeout 20 ls $M/snapshots >/dev/null; timeout 20 grep -q 'Running since' $M/control/backup")
            try sandbox.fails("timeout 20 touch $M/control/check", saying: "Device or resource busy")
            try sandbox.sh("echo > $M/control/cancel; rm $R/pause; wait_until '! grep -q Running $M/control/backup'")
            #expect(try sandbox.names("snapshots") == [])
            try sandbox.sh("grep -qi 'cancel' $M/control/backup; echo three > $M/control/backup")
            try sandbox.sh("wait_until test -e $M/snapshots/three")
            try sandbox.unmount()
        }
    }

    @Test func `a backup of control is finished when the store is unmounted`() throws {
        try Self.withPause { sandbox in
            let unmount = try sandbox.start("backupfs umount --store $S 2>$R/said; echo $? > $R/ended")
            try sandbox.wait(for: "\(sandbox.path)/said")
            try sandbox.sh("wait_until grep -q 'finishes what runs: ' $R/said; rm $R/pause")
            _ = try unmount.wait(limitSeconds: 60)
            #expect(
                try sandbox.sh("cat $R/ended; backupfs snapshots --store $S --json | jq -r '.[].name'") == "0\ntwo")
        }
    }
}
