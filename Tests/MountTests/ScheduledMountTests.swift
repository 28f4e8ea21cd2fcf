import Glibc
import TestSupport
import Testing

/// Backups that a mount makes by itself, and its behaviour when it is stopped.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct ScheduledMountTests {
    /// A store whose schedule began on one day, and changes between its mounts.
    private func room(_ body: (Room) throws -> Void) throws {
        try Room.use { room in
            room.variables["BACKUPFS_SCHEDULE"] = nil
            try room.sh("backupfs init --store $S; backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
            try body(room)
        }
    }

    private func wait(_ room: Room, until script: String) throws {
        try room.sh("for i in $(seq 300); do \(script) && exit 0; sleep 0.1; done; cat $S/schedule.state; exit 1")
    }

    @Test func `SCH-06, SCH-07: what was missed is made up for, silently, and seen in the mount`() throws {
        try room { room in
            let output = try room.sh("backupfs mount --store $S $M 2>&1", ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"])
            #expect(output == "")
            try wait(room, until: "[ -e $M/snapshots/2026-01-12_09-00-00/export.json ]")
            #expect(try room.sh("getfattr --only-values -n user.backupfs.tag $M/snapshots/latest/") == "automatic")
            let log = try room.sh("cat $S/mount.log")
            #expect(log == "", "\(log)")
            try room.unmount()
            // The same day again, where no backup is due.
            try room.sh(
                "backupfs mount --store $S $M; sleep 1; ls $M/snapshots | wc -l", ["BACKUPFS_NOW": "2026-01-12T23:00:00Z"])
            #expect(try room.sh("ls $M/snapshots | paste -sd' '") == "2026-01-12_09-00-00 latest")
            try room.unmount()
        }
    }

    /// A mount and a timer whose backups both fail.
    @Test func `U-B4: failures are reported once, whichever process has them, and the mount waits for no command`() throws {
        try room { room in
            try room.sh(
                """
                backupfs config set notify-failures 2 --store $S; backupfs config set hook-timeout-seconds 600 --store $S
                backupfs config set automatic-hook 'echo $BACKUPFS_EVENT,$BACKUPFS_FAILURES >> told; exec sleep 600' --store $S
                """)
            let failing = ["BACKUPFS_NOW": "2026-01-12T09:00:00Z", "BACKUPFS_FAULT": "backup.begun=fail"]
            try room.sh("backupfs mount --store $S $M", failing)
            try wait(room, until: "grep -q 'failures: 1' $S/notice.state")
            #expect(try room.sh("! [ -e $S/told ]; ls $M/snapshots") == "")
            try room.unmount()
            // Its start is another attempt: the second.
            try room.sh("backupfs mount --store $S $M", failing)
            try wait(room, until: "[ -s $S/told ]")
            try room.sh("! timeout 60 backupfs backup --if-due --store $S 2>/dev/null", failing)
            #expect(try room.sh("cat $S/told; grep -o 'failures: 3' $S/notice.state") == "failing,2\nfailures: 3")
            // The command still runs.
            try room.unmount()
            try room.sh("for process in $(pgrep -x sleep); do [ $(readlink /proc/$process/cwd) != $S ] || kill $process; done")
        }
    }

    @Test func `a clock that was years ahead for a while does not stop its backups`() throws {
        try room { room in
            try room.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2031-06-02T12:00:00Z"])
            // It records that the clock is behind, and two hours later it counts from there.
            try room.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"])
            try wait(room, until: "grep -q 'clock-behind-since: 2026-01-12T09:00:00Z' $S/schedule.state")
            try room.unmount()
            try room.sh(
                "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'x' WHERE key = 'device_name'\"")
            try room.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-12T11:00:00Z"])
            try wait(room, until: "[ -e $M/snapshots/2026-01-12_11-00-00 ]")
            try room.unmount()
        }
    }

    @Test func `a read-only mount makes none`() throws {
        try room { room in
            try room.sh("backupfs mount -o ro --store $S $M; sleep 1.5", ["BACKUPFS_NOW": "2026-01-12T09:00:00Z"])
            #expect(try room.sh("ls $M/snapshots") == "")
            try room.unmount()
        }
    }

    @Test func `SIGHUP brings new settings into force at once`() throws {
        try room { room in
            try room.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-10T20:00:00Z"])
            try room.sh("sleep 0.5; backupfs config set schedule '19:00' --store $S; rm $S/schedule.state")
            try room.sh("printf 'schedule: 19:00\\nhandled-at: 2026-01-10T10:00:00Z\\n' > $S/schedule.state")
            let daemon = try #require(room.daemons.first)
            #expect(kill(daemon, SIGHUP) == 0)
            try wait(room, until: "[ -e $M/snapshots/2026-01-10_20-00-00 ]")
            #expect(room.mounts == [room.mountpoint])
            try room.unmount()
        }
    }

    /// The backup waits at its beginning, so that there is something to end.
    @Test(arguments: [
        "backupfs umount --store $S", "kill -TERM $(cat $R/daemon)", "mkdir $M/snapshots/mine; backupfs umount --store $S",
    ])
    func `SCH-09, SCH-10: a backup that it is making gives way, and is made up for at the next start`(script: String) throws {
        try room { room in
            let now = "2026-01-12T09:00:00Z"
            try room.sh(
                "touch $R/pause; backupfs mount --store $S $M",
                ["BACKUPFS_NOW": now, "BACKUPFS_FAULT": "backup.begun=pause:\(room.path)/pause"])
            try wait(room, until: "[ -s $S/operation.json ]")
            #expect(try room.sh("grep -o 'automatic backup' $M/status.json") == "automatic backup")
            try room.write("\(try #require(room.daemons.first))", to: "daemon")
            try room.sh(script)
            #expect(room.waitForProcesses())
            #expect(
                try room.sh("! [ -e $S/last-error.json ]; cat $S/schedule.state").contains(
                    "retry-at: 2026-01-12T09:01:00Z"))
            try room.sh(
                "rm $R/pause; sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'x' WHERE key = 'device_name'\"")
            try room.sh("backupfs mount --store $S $M", ["BACKUPFS_NOW": "2026-01-12T09:02:00Z"])
            try wait(room, until: "[ -e $M/snapshots/2026-01-12_09-02-00 ]")
            try room.unmount()
        }
    }

    @Test func `backupfs cancel ends an operation of the mount`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            try room.sh(
                "touch $R/pause; backupfs mount --store $S $M", ["BACKUPFS_FAULT": "backup.begun=pause:\(room.path)/pause"])
            let job = try room.start("mkdir $M/snapshots/one")
            try wait(room, until: "[ -s $S/operation.json ]")
            #expect(try room.sh("backupfs cancel --store $S") == "Ended: backup")
            let result = try job.wait()
            #expect(result.exitCode == 1 && result.text.contains("Operation canceled"), "\(result.text)")
            #expect(try room.sh("ls $M/snapshots") == "")
            try room.sh("rm $R/pause; mkdir $M/snapshots/one; ls $M/snapshots/one/export.json")
            try room.unmount()
        }
    }
}
