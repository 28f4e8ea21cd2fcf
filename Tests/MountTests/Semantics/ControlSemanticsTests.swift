import TestSupport
import Testing

/// `control/`, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ControlSemanticsTests {
    @Test func `S94: files in control make, check, pin and verify backups`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            #expect(
                try sandbox.names("control") == [
                    "backup", "cancel", "check", "pause", "pin", "prune", "resume", "undelete", "undo", "unpin", "verify",
                ])
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

    @Test func `a restore is undone, and a removed backup comes back`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/first; sqlite3 $S/app/database.sqlite 'delete from expenses where id > 3'
                cp $M/snapshots/first/export.json $M/restore/
                """)
            let count = "sqlite3 $S/app/database.sqlite 'select count(*) from expenses'"
            #expect(try sandbox.sh(count) == "1200")
            // Not by accident.
            try sandbox.fails("touch $M/control/undo", saying: "Invalid argument")
            try sandbox.fails("echo | tee $M/control/undo", saying: "Invalid argument")
            #expect(try sandbox.sh(count) == "1200")
            try sandbox.sh("echo yes > $M/control/undo; wait_until 'grep -q Ended $M/control/undo'")
            #expect(try sandbox.sh(count) == "3")
            try sandbox.sh("rmdir $M/snapshots/first")
            try sandbox.fails("echo | tee $M/control/undelete", saying: "Invalid argument")
            try sandbox.sh("grep -q 'removed backup into this file: .*first' $M/control/undelete")
            try sandbox.fails("echo none | tee $M/control/undelete", saying: "No such file")
            try sandbox.sh("echo first > $M/control/undelete")
            #expect(try sandbox.names("snapshots") == ["first", "latest"])
            #expect(try sandbox.sh("sqlite3 $M/snapshots/first/database.sqlite 'select count(*) from expenses'") == "1200")
        }
    }

    @Test func `the schedule is paused, and goes on by itself`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample >/dev/null; backupfs config set schedule 'every 1h' --store $S")
            try sandbox.mount(["BACKUPFS_SCHEDULE": ""])
            for text in ["0", "721", "soon", "-1"] {
                try sandbox.fails("echo \(text) | tee $M/control/pause", saying: "Invalid argument")
            }
            try sandbox.sh("echo 2 > $M/control/pause; grep -q 'paused until' $M/control/pause")
            try sandbox.sh("jq -e '.schedulePausedUntil == .nextBackup' $M/status.json; grep -q 'paused until' $M/index.html")
            let end = try sandbox.sh("jq -r .schedulePausedUntil $M/status.json")
            #expect(try sandbox.sh("backupfs config get schedule-paused-until --store $S") == end)
            #expect(
                try sandbox.sh(
                    "backupfs backup --if-due --json --store $S | jq -r 'select(.reason) | .reason'", ["BACKUPFS_SCHEDULE": ""])
                    == "paused")
            // A pause that a clock years ahead began does not last for years, and none that is that long is set.
            #expect(
                try sandbox.sh(
                    "backupfs status --json --store $S | jq .schedulePausedUntil",
                    ["BACKUPFS_SCHEDULE": "", "BACKUPFS_NOW": "2020-01-11T14:30:00Z"]) == "null")
            try sandbox.fails(
                "backupfs config set schedule-paused-until 2999-01-01T00:00:00Z --store $S", saying: "720 hours at most")
            // Once it is over, what was due is made.
            let later = try sandbox.sh("date -ud \"$(jq -r .schedulePausedUntil $M/status.json) + 1 minute\" +%FT%TZ")
            try sandbox.sh(
                "backupfs backup --if-due --store $S", ["BACKUPFS_SCHEDULE": "", "BACKUPFS_NOW": later])
            #expect(try sandbox.sh("ls $M/snapshots | wc -l") == "2")
            try sandbox.sh("touch $M/control/resume; jq -e '.schedulePausedUntil == null' $M/status.json")
            try sandbox.unmount()
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
