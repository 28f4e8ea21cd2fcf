import Glibc
import TestSupport
import Testing

/// `backupfs umount MOUNT` and the process that served the mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct UnmountWaitTests {
    private static let pause = "backup.writing=pause:"

    /// A mounted store that is not the default one, with a pending backup, which waits until `$R/pause` is removed.
    private func withPendingBackup(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample >/dev/null; touch $R/pause")
            try sandbox.mount(["BACKUPFS_MKDIR_WAITS": "never", "BACKUPFS_FAULT": "\(Self.pause)\(sandbox.path)/pause"])
            try sandbox.sh("mkdir $M/snapshots/two; wait_until [ -e $R/pause.reached ]")
            try body(sandbox)
            #expect(sandbox.waitForProcesses())
        }
    }

    /// Starts an unmount, and returns when it has printed something.
    private func startUnmount(
        _ sandbox: Sandbox, _ command: String = "backupfs umount $M --json", saying expected: String
    ) throws -> Job {
        let job = try sandbox.start("\(command) >$R/report 2>$R/said; echo $? >$R/ended")
        try sandbox.wait(for: "\(sandbox.path)/said")
        try sandbox.sh("wait_until grep -q '\(expected)' $R/said")
        #expect(sandbox.mounts.isEmpty)
        return job
    }

    @Test func `S63: umount of a mountpoint waits for a pending backup of whichever store`() throws {
        try withPendingBackup { sandbox in
            let job = try startUnmount(sandbox, saying: "finishes what runs: backup")
            #expect(try sandbox.sh("[ -e $R/ended ] || echo waits") == "waits")
            try sandbox.sh("rm $R/pause")
            _ = try job.wait(limitSeconds: 60)
            #expect(sandbox.daemons.isEmpty)
            #expect(try sandbox.sh("cat $R/ended; jq -c .ended $R/report") == "0\ntrue")
            #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "two")
        }
    }

    @Test func `a default store that is mounted elsewhere is no reason to wait`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S >/dev/null; mkdir $R/other; backupfs mount $R/other")
            try sandbox.mount()
            try sandbox.sh("timeout 5 backupfs umount $M; timeout 20 backupfs umount")
        }
    }

    @Test func `Ctrl-C ends the waiting, and the backup goes on`() throws {
        try withPendingBackup { sandbox in
            // Programs that a shell starts in the background ignore SIGINT.
            try sandbox.write(
                """
                import os, signal
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                open(os.environ["R"] + "/number", "w").write(str(os.getpid()))
                os.execvp("backupfs", ["backupfs", "umount", os.environ["M"]])
                """, to: "unmount.py")
            let job = try startUnmount(sandbox, "python3 $R/unmount.py", saying: "finishes what runs")
            try sandbox.sh("kill -INT $(cat $R/number)")
            _ = try job.wait(limitSeconds: 20)
            #expect(try sandbox.sh("cat $R/ended") == "130")
            #expect(sandbox.daemons.count == 1)
            try sandbox.sh("rm $R/pause")
            #expect(sandbox.waitForProcesses())
            #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "two")
        }
    }

    @Test(.enabled(if: OrdinaryUserTests.isPossible, "NOT TESTED: another user's mount needs root, setpriv and fusermount3"))
    func `root waits for a mount that another user's process serves`() throws {
        try Sandbox.use { sandbox in
            let mode = try sandbox.sh("stat -c %a /dev/fuse")
            try sandbox.sh("chmod 666 /dev/fuse")
            defer { _ = try? sandbox.sh("chmod \(mode) /dev/fuse") }
            try sandbox.sh(
                """
                cp --remove-destination $(readlink -f $R/bin/backupfs) $R/bin/backupfs; touch $R/pause; chown -R nobody $R; chmod 755 $R $R/bin/*
                user="setpriv --reuid=65534 --regid=65534 --clear-groups"
                $user backupfs init --store $S --sample >/dev/null
                BACKUPFS_MKDIR_WAITS=never BACKUPFS_FAULT=\(Self.pause)$R/pause $user backupfs mount --store $S $M
                $user mkdir $M/snapshots/two; wait_until [ -e $R/pause.reached ]
                """)
            let job = try startUnmount(sandbox, saying: "Waiting until process [0-9]*, which served it, has ended")
            try sandbox.sh("rm $R/pause")
            _ = try job.wait(limitSeconds: 60)
            #expect(sandbox.daemons.isEmpty)
            #expect(try sandbox.sh("cat $R/ended; jq -c .ended $R/report") == "0\ntrue")
        }
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: a PID namespace needs root"))
    func `a process of another container is waited for by the store's lock, or it is said that it was not`() throws {
        for isSeen in [true, false] {
            try Sandbox.use { sandbox in
                try sandbox.sh(
                    """
                    backupfs init --store $S --sample >/dev/null; touch $R/pause
                    BACKUPFS_MKDIR_WAITS=never BACKUPFS_FAULT=\(Self.pause)$R/pause setsid unshare --pid --fork \\
                        backupfs mount --foreground --store $S $M >$R/served 2>&1 &
                    wait_until mountpoint -q $M
                    mkdir $M/snapshots/two; wait_until [ -e $R/pause.reached ]
                    """)
                // A container sees other paths.
                if !isSeen { try sandbox.sh("mv $S $R/moved") }
                let waits = "finishes what runs\\|until the process that served it has ended"
                let expected = isSeen ? waits : "cannot be seen from here"
                let job = try startUnmount(sandbox, saying: expected)
                if !isSeen { _ = try job.wait(limitSeconds: 20) }
                #expect(try sandbox.sh("cat $R/ended 2>/dev/null || echo waits") == (isSeen ? "waits" : "3"))
                if !isSeen { try sandbox.sh("mv $R/moved $S") }
                try sandbox.sh("rm $R/pause")
                _ = try job.wait(limitSeconds: 60)
                #expect(try sandbox.sh("jq -c .ended $R/report") == "\(isSeen)")
                #expect(sandbox.waitForProcesses())
                #expect(try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[].name'") == "two")
            }
        }
    }

    @Test func `a mount that is dead or stands still does not hold umount up`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S >/dev/null")
            try sandbox.mount()
            try sandbox.crash()
            #expect(try sandbox.sh("timeout 5 backupfs umount $M --json | jq -c .ended") == "true")
            try sandbox.mount()
            for daemon in sandbox.daemons { kill(daemon, SIGSTOP) }
            defer { for daemon in sandbox.daemons { kill(daemon, SIGCONT) } }
            let result = try sandbox.run("timeout 30 backupfs umount $M --json")
            #expect(result.exitCode == 3 && result.text.contains("cannot be seen from here"), "\(result.text)")
            #expect(result.output.contains("\"ended\":false"))
        }
    }
}
