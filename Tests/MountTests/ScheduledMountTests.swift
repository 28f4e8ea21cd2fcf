import Glibc
import TestSupport
import Testing

/// Backups that a mount makes by itself, and its behaviour when it is stopped.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct ScheduledMountTests {
    /// A store whose schedule began on one day, and changes between its mounts.
    private func sandbox(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            sandbox.variables["BACKUPFS_SCHEDULE"] = nil
            try sandbox.sh(
                "backupfs init --store $S; backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
            try body(sandbox)
        }
    }

    private func wait(_ sandbox: Sandbox, until script: String) throws {
        try sandbox.sh("wait_until \(script)")
    }

    @Test func `SCH-06, SCH-07: what was missed is made up for, silently, and seen in the mount`() throws {
        try sandbox { sandbox in
            let output = try sandbox.sh("backupfs mount --store $S $M 2>&1", ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"])
            #expect(output == "")
            try wait(sandbox, until: "[ -e $M/snapshots/2026-01-12_09-00-00/export.json ]")
            #expect(try sandbox.sh("getfattr --only-values -n user.backupfs.tag $M/snapshots/latest/") == "automatic")
            let log = try sandbox.sh("cat $S/mount.log")
            #expect(log == "", "\(log)")
            try sandbox.unmount()
            // The same day again, where no backup is due.
            try sandbox.sh(
                "backupfs mount --store $S $M; wait_until grep -q not-due $S/backupfs.log",
                ["BACKUPFS_NOW": "2026-01-12T23:00:00Z", "BACKUPFS_LOG_LEVEL": "trace"])
            #expect(try sandbox.sh("ls $M/snapshots | paste -sd' '") == "2026-01-12_09-00-00 latest")
            try sandbox.unmount()
        }
    }

    /// A mount and a timer whose backups both fail.
    @Test func `U-B4: failures are reported once, whichever process has them, and the mount waits for no command`() throws {
        try sandbox { sandbox in
            try sandbox.sh(
                """
                backupfs config set notify-failures 2 --store $S; backupfs config set hook-timeout-seconds 600 --store $S
                backupfs config set automatic-hook 'echo $BACKUPFS_EVENT,$BACKUPFS_FAILURES >> told; exec sleep 600' --store $S
                """)
            let failing = ["BACKUPFS_NOW": "2026-01-12T09:00:00Z", "BACKUPFS_FAULT": "backup.begun=fail"]
            try sandbox.sh("backupfs mount --store $S $M", failing)
            try wait(sandbox, until: "grep -q 'failures: 1' $S/notice.state")
            #expect(try sandbox.sh("! [ -e $S/told ]; ls $M/snapshots") == "")
            try sandbox.unmount()
            // Its start is another attempt: the second.
            try sandbox.sh("backupfs mount --store $S $M", failing)
            try wait(sandbox, until: "[ -s $S/told ]")
            try sandbox.sh("! timeout 60 backupfs backup --if-due --store $S 2>/dev/null", failing)
            #expect(try sandbox.sh("cat $S/told; grep -o 'failures: 3' $S/notice.state") == "failing,2\nfailures: 3")
            // The command still runs.
            try sandbox.unmount()
            try sandbox.sh(
                "for process in $(pgrep -x sleep); do [ \"$(readlink /proc/$process/cwd)\" != $S ] || kill $process || true; done"
            )
        }
    }

    @Test func `a clock that was years ahead for a while does not stop its backups`() throws {
        try sandbox { sandbox in
            try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2031-06-02T12:00:00Z"])
            // It records that the clock is behind, and two hours later it counts from there.
            try sandbox.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"])
            try wait(sandbox, until: "grep -q 'clock-behind-since: 2026-01-12T09:00:00Z' $S/schedule.state")
            try sandbox.unmount()
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'x' WHERE key = 'device_name'\"")
            try sandbox.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-12T11:00:00Z"])
            try wait(sandbox, until: "[ -e $M/snapshots/2026-01-12_11-00-00 ]")
            try sandbox.unmount()
        }
    }

    @Test func `a read-only mount makes none`() throws {
        try sandbox { sandbox in
            // By the time that a mount which begins later has made its own, this one would have made one.
            try sandbox.sh(
                """
                other=$R/other; mkdir $R/other-mnt
                BACKUPFS_NOW=2026-01-10T10:00:00Z backupfs init --store $other
                BACKUPFS_NOW=2026-01-10T10:00:00Z backupfs backup --if-due --store $other
                backupfs mount -o ro --store $S $M; backupfs mount --store $other $R/other-mnt
                wait_until [ -e $R/other-mnt/snapshots/2026-01-12_09-00-00 ]; backupfs umount --store $other
                """, ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"])
            #expect(try sandbox.sh("ls $M/snapshots") == "")
            try sandbox.unmount()
        }
    }

    @Test func `SIGHUP brings new settings into force at once`() throws {
        try sandbox { sandbox in
            try sandbox.sh(
                "backupfs mount --store $S $M; wait_until grep -q not-due $S/backupfs.log",
                ["BACKUPFS_NOW": "2026-01-10T20:00:00Z", "BACKUPFS_LOG_LEVEL": "trace"])
            try sandbox.sh("backupfs config set schedule '19:00' --store $S; rm $S/schedule.state")
            try sandbox.sh("printf 'schedule: 19:00\\nhandled-at: 2026-01-10T10:00:00Z\\n' > $S/schedule.state")
            let daemon = try #require(sandbox.daemons.first)
            #expect(kill(daemon, SIGHUP) == 0)
            try wait(sandbox, until: "[ -e $M/snapshots/2026-01-10_20-00-00 ]")
            #expect(sandbox.mounts == [sandbox.mountpoint])
            try sandbox.unmount()
        }
    }

    /// The backup waits at its beginning, so that there is something to end.
    @Test(arguments: [
        "backupfs umount --store $S", "kill -TERM $(cat $R/daemon)", "mkdir $M/snapshots/mine; backupfs umount --store $S",
    ])
    func `SCH-09, SCH-10: a backup that it is making gives way, and is made up for at the next start`(script: String) throws {
        try sandbox { sandbox in
            let now = "2026-01-12T09:00:00Z"
            try sandbox.sh(
                "touch $R/pause; backupfs mount --store $S $M",
                ["BACKUPFS_NOW": now, "BACKUPFS_FAULT": "backup.begun=pause:\(sandbox.path)/pause"])
            try wait(sandbox, until: "[ -e $R/pause.reached ]")
            #expect(try sandbox.sh("grep -o 'automatic backup' $M/status.json") == "automatic backup")
            try sandbox.write("\(try #require(sandbox.daemons.first))", to: "daemon")
            try sandbox.sh(script)
            #expect(sandbox.waitForProcesses())
            #expect(
                try sandbox.sh("! [ -e $S/last-error.json ]; cat $S/schedule.state").contains(
                    "retry-at: 2026-01-12T09:01:00Z"))
            try sandbox.sh(
                "rm $R/pause; sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'x' WHERE key = 'device_name'\"")
            try sandbox.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-12T09:02:00Z"])
            try wait(sandbox, until: "[ -e $M/snapshots/2026-01-12_09-02-00 ]")
            try sandbox.unmount()
        }
    }

    @Test func `backupfs cancel ends an operation of the mount`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            try sandbox.sh(
                "touch $R/pause; backupfs mount --store $S $M", ["BACKUPFS_FAULT": "backup.begun=pause:\(sandbox.path)/pause"])
            let job = try sandbox.start("mkdir $M/snapshots/one")
            try wait(sandbox, until: "[ -e $R/pause.reached ]")
            #expect(try sandbox.sh("backupfs cancel --store $S") == "Ended: backup")
            let result = try job.wait()
            #expect(result.exitCode == 1 && result.text.contains("Operation canceled"), "\(result.text)")
            #expect(try sandbox.sh("ls $M/snapshots") == "")
            try sandbox.sh("rm $R/pause; mkdir $M/snapshots/one; ls $M/snapshots/one/export.json")
            try sandbox.unmount()
        }
    }
}
