import Glibc
import TestSupport
import Testing

/// `backupfs umount MOUNT` and the process that served the mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct UnmountWaitTests {
    private static let pause = "backup.writing=pause:"

    /// A mounted store that is not the default one, with a pending backup, which waits until `$R/pause` is removed.
    private func withPendingBackup(_ body: (Room) throws -> Void) throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S --sample >/dev/null; touch $R/pause")
            try room.mount(["BACKUPFS_MKDIR_WAITS": "never", "BACKUPFS_FAULT": "\(Self.pause)\(room.path)/pause"])
            try room.sh("mkdir $M/snapshots/two; until [ -e $R/pause.reached ]; do sleep 0.01; done")
            try body(room)
            #expect(room.waitForProcesses())
        }
    }

    /// Starts an unmount, and returns when it has printed something.
    private func startUnmount(
        _ room: Room, _ command: String = "backupfs umount $M --json", saying expected: String
    ) throws -> Job {
        let job = try room.start("\(command) >$R/report 2>$R/said; echo $? >$R/ended")
        try room.wait(for: "\(room.path)/said")
        try room.sh("for n in $(seq 600); do grep -q '\(expected)' $R/said && exit; sleep 0.05; done; cat $R/said >&2; exit 1")
        #expect(room.mounts.isEmpty)
        return job
    }

    @Test func `S63: umount of a mountpoint waits for a pending backup of whichever store`() throws {
        try withPendingBackup { room in
            let job = try startUnmount(room, saying: "finishes what runs: backup")
            #expect(try room.sh("[ -e $R/ended ] || echo waits") == "waits")
            try room.sh("rm $R/pause")
            _ = try job.wait(limitSeconds: 60)
            #expect(room.daemons.isEmpty)
            #expect(try room.sh("cat $R/ended; jq -c .ended $R/report") == "0\ntrue")
            #expect(try room.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "two")
        }
    }

    @Test func `a default store that is mounted elsewhere is no reason to wait`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S >/dev/null; mkdir $R/other; backupfs mount $R/other")
            try room.mount()
            try room.sh("timeout 5 backupfs umount $M; timeout 20 backupfs umount")
        }
    }

    @Test func `Ctrl-C ends the waiting, and the backup goes on`() throws {
        try withPendingBackup { room in
            // Programs that a shell starts in the background ignore SIGINT.
            try room.write(
                """
                import os, signal
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                open(os.environ["R"] + "/number", "w").write(str(os.getpid()))
                os.execvp("backupfs", ["backupfs", "umount", os.environ["M"]])
                """, to: "unmount.py")
            let job = try startUnmount(room, "python3 $R/unmount.py", saying: "finishes what runs")
            try room.sh("kill -INT $(cat $R/number)")
            _ = try job.wait(limitSeconds: 20)
            #expect(try room.sh("cat $R/ended") == "130")
            #expect(room.daemons.count == 1)
            try room.sh("rm $R/pause")
            #expect(room.waitForProcesses())
            #expect(try room.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "two")
        }
    }

    @Test(.enabled(if: OrdinaryUserTests.isPossible, "NOT TESTED: another user's mount needs root, setpriv and fusermount3"))
    func `root waits for a mount that another user's process serves`() throws {
        try Room.use { room in
            let mode = try room.sh("stat -c %a /dev/fuse")
            try room.sh("chmod 666 /dev/fuse")
            defer { _ = try? room.sh("chmod \(mode) /dev/fuse") }
            try room.sh(
                """
                cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; touch $R/pause; chown -R nobody $R; chmod 755 $R $R/bin/*
                user="setpriv --reuid=65534 --regid=65534 --clear-groups"
                $user backupfs init --store $S --sample >/dev/null
                BACKUPFS_MKDIR_WAITS=never BACKUPFS_FAULT=\(Self.pause)$R/pause $user backupfs mount --store $S $M
                $user mkdir $M/snapshots/two; until [ -e $R/pause.reached ]; do sleep 0.01; done
                """)
            let job = try startUnmount(room, saying: "Waiting until process [0-9]*, which served it, has ended")
            try room.sh("rm $R/pause")
            _ = try job.wait(limitSeconds: 60)
            #expect(room.daemons.isEmpty)
            #expect(try room.sh("cat $R/ended; jq -c .ended $R/report") == "0\ntrue")
        }
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a PID namespace needs root"))
    func `a process of another container is waited for by the store's lock, or it is said that it was not`() throws {
        for isSeen in [true, false] {
            try Room.use { room in
                try room.sh(
                    """
                    backupfs init --store $S --sample >/dev/null; touch $R/pause
                    BACKUPFS_MKDIR_WAITS=never BACKUPFS_FAULT=\(Self.pause)$R/pause setsid unshare --pid --fork \\
                        backupfs mount --foreground --store $S $M >$R/served 2>&1 &
                    until mountpoint -q $M; do sleep 0.01; done
                    mkdir $M/snapshots/two; until [ -e $R/pause.reached ]; do sleep 0.01; done
                    """)
                // A container sees other paths.
                if !isSeen { try room.sh("mv $S $R/moved") }
                let waits = "finishes what runs\\|until the process that served it has ended"
                let expected = isSeen ? waits : "cannot be seen from here"
                let job = try startUnmount(room, saying: expected)
                if !isSeen { _ = try job.wait(limitSeconds: 20) }
                #expect(try room.sh("cat $R/ended 2>/dev/null || echo waits") == (isSeen ? "waits" : "3"))
                if !isSeen { try room.sh("mv $R/moved $S") }
                try room.sh("rm $R/pause")
                _ = try job.wait(limitSeconds: 60)
                #expect(try room.sh("jq -c .ended $R/report") == "\(isSeen)")
                #expect(room.waitForProcesses())
                #expect(try room.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "two")
            }
        }
    }

    @Test func `a mount that is dead or stands still does not hold umount up`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S >/dev/null")
            try room.mount()
            try room.crash()
            #expect(try room.sh("timeout 5 backupfs umount $M --json | jq -c .ended") == "true")
            try room.mount()
            for daemon in room.daemons { kill(daemon, SIGSTOP) }
            defer { for daemon in room.daemons { kill(daemon, SIGCONT) } }
            let result = try room.run("timeout 30 backupfs umount $M --json")
            #expect(result.exitCode == 3 && result.text.contains("cannot be seen from here"), "\(result.text)")
            #expect(result.output.contains("\"ended\":false"))
        }
    }
}
