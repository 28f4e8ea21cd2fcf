import Glibc
import TestSupport
import Testing

/// Mounting and unmounting, from the first command on a new machine to the state after a crash.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LifecycleTests {
    static let rootNames = [
        "README.txt", "control", "copy", "exports", "history", "index.html", "jobs", "live", "remotes", "reports", "restore",
        "safety",
        "snapshots", "status.json", "versions",
    ]

    @Test func `the first mount makes the default store and is ready when it returns`() throws {
        try Sandbox.use { sandbox in
            // In a command substitution: the mount must not keep the shell's pipe open.
            #expect(try sandbox.sh("said=$(backupfs $M); ls $M; echo \"said: $said\"").hasSuffix("versions\nsaid: "))
            #expect(try sandbox.names("") == Self.rootNames)
            try sandbox.sh("test -f $XDG_DATA_HOME/backupfs/store.yaml")
            #expect(
                try sandbox.sh("jq -c '[keys_unsorted, (.cars|length), (.expenses|length)]' $M/live/export.json")
                    == #"[["metadata","cars","expenses","plannedMaintenance","delayedNotifications","userSettings"],0,0]"#)
            try sandbox.sh("mkdir $M/snapshots/first")
            try sandbox.unmount()
            try sandbox.sh("backupfs mount $M")
            #expect(try sandbox.names("snapshots") == ["first", "latest"])
            try sandbox.unmount()
        }
    }

    @Test func `without XDG_DATA_HOME the default store lies below the home folder`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("env -u XDG_DATA_HOME backupfs $M; test -f $HOME/.local/share/backupfs/store.yaml")
            try sandbox.unmount()
        }
    }

    @Test func `the store is named by an option, by a mount option or by the environment`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            for command in ["backupfs mount --store $S $M", "backupfs $M -o store=$S", "BACKUPFS_STORE=$S backupfs $M"] {
                try sandbox.sh(command)
                #expect(try sandbox.sh("jq -r .store $M/status.json") == sandbox.storePath, "\(command)")
                try sandbox.unmount()
            }
            try sandbox.fails("backupfs mount --store $R/none $M", saying: "there is no backupfs store here", exitCode: 10)
        }
    }

    @Test func `CON-01: a store is mounted once at a time, and the message says where`() throws {
        try Sandbox.withMount { sandbox in
            let refused = try sandbox.fails(
                "mkdir $R/other; backupfs mount --store $S $R/other", saying: "the store is mounted already", exitCode: 11)
            #expect(refused.errors.contains(sandbox.mountpoint))
            try sandbox.fails("backupfs mount -f --store $S $R/other", saying: "the store is mounted already", exitCode: 11)
            #expect(try sandbox.names("") == Self.rootNames)
            try sandbox.fails(
                "backupfs init --store $R/second; backupfs mount --store $R/second $M",
                saying: "backupfs is mounted here already",
                exitCode: 11)
            #expect(sandbox.mounts == [sandbox.mountpoint])
        }
    }

    @Test func `a mountpoint that cannot be used is refused with a reason`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            try sandbox.fails("backupfs mount --store $S $R/missing", saying: "the mountpoint does not exist", exitCode: 1)
            try sandbox.sh("echo precious > $M/mine")
            try sandbox.fails("backupfs mount --store $S $M", saying: "the mountpoint is not empty", exitCode: 1)
            #expect(try sandbox.sh("cat $M/mine") == "precious")
            try sandbox.fails("backupfs mount --store $S $M/mine", saying: "the mountpoint is not a folder", exitCode: 1)
            try sandbox.fails("backupfs mount --store $S", saying: "mountpoint", exitCode: 2)
            try sandbox.sh("backupfs mount --store $S $M -o nonempty")
            try sandbox.unmount()
            #expect(try sandbox.sh("cat $M/mine") == "precious")
        }
    }

    @Test func `the mount that a crash left is cleared by the next one`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("mkdir $M/snapshots/before")
            let sums = try sandbox.sh("cat $M/snapshots/before/SHA256SUMS")
            try sandbox.crash()
            #expect(sandbox.mounts == [sandbox.mountpoint])
            // The kernel returns ECONNABORTED to the first request, and ENOTCONN to all others.
            _ = try sandbox.run("ls $M")
            try sandbox.fails("ls $M", saying: "Transport endpoint is not connected")
            try sandbox.mount()
            #expect(sandbox.mounts == [sandbox.mountpoint])
            #expect(try sandbox.sh("cat $M/snapshots/before/SHA256SUMS") == sums)
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends a foreground mount cleanly`(signal: Int32) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            let job = try sandbox.start("exec backupfs mount -f --store $S $M")
            try sandbox.wait(for: "\(sandbox.mountpoint)/status.json")
            job.send(signal)
            let result = try job.wait()
            #expect(result.exitCode == 0, "\(result.text)")
            #expect(sandbox.mounts == [])
            try sandbox.sh("rmdir $M && mkdir $M")
        }
    }

    @Test func `fusermount3 ends a foreground mount with exit code 0`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            let job = try sandbox.start("exec backupfs -f --store $S $M")
            try sandbox.wait(for: "\(sandbox.mountpoint)/status.json")
            try sandbox.sh("fusermount3 -u $M")
            let result = try job.wait()
            #expect(result.exitCode == 0, "\(result.text)")
        }
    }

    @Test func `SIGTERM ends a background mount`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S; backupfs mount --store $S $M")
            let daemon = try #require(sandbox.daemons.first)
            #expect(kill(daemon, SIGTERM) == 0)
            #expect(sandbox.waitForProcesses())
            #expect(sandbox.mounts == [])
            try sandbox.mount()
            try sandbox.unmount()
        }
    }

    @Test func `a signal in the moment in which it mounts leaves no dead mount`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample >/dev/null")
            let result = try sandbox.python(
                #"""
                def mounted(): return any(line.split()[1] == M for line in open("/proc/self/mounts"))
                codes = set()
                for turn in range(20):
                    mounting = subprocess.Popen(["backupfs", "mount", "--foreground", "--store", S, M], stderr=subprocess.DEVNULL,
                                                preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
                    limit = time.monotonic() + 30
                    while not mounted() and time.monotonic() < limit: pass
                    mounting.terminate()
                    codes.add(mounting.wait(60))
                    if mounted(): print("left"); subprocess.run(["umount", "-l", M])
                print(codes)
                """#)
            #expect(result == "{0}")
        }
    }

    @Test func `umount unmounts, by mountpoint or by store, and the store can be mounted again at once`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            for command in ["backupfs umount --store $S", "backupfs umount $M", "backupfs umount --store $S $M"] {
                try sandbox.mount()
                try sandbox.sh(command)
                #expect(sandbox.mounts == [])
            }
            try sandbox.sh("backupfs mount --store $S $M && backupfs umount --store $S && backupfs mount --store $S $M")
            try sandbox.unmount()
            try sandbox.fails("backupfs umount $M", saying: "nothing is mounted here", exitCode: 1)
            try sandbox.fails("backupfs umount --store $S", saying: "the store is not mounted", exitCode: 1)
        }
    }

    @Test func `CON-03: a mount in use is not taken away`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.fails("exec 3<$M/README.txt; backupfs umount $M", saying: "has files open", exitCode: 11)
            try sandbox.fails("cd $M/live; fusermount3 -u $M; code=$?; cd /; exit $code", saying: "busy")
            #expect(try sandbox.names("") == Self.rootNames)
        }
    }

    @Test func `options for fstab and systemd are taken, unknown ones are not`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            let options = "-o rw,x-systemd.automount,x-systemd.idle-timeout=60,nofail,_netdev,noauto,noatime,nodev,nosuid,user"
            try sandbox.mount(options: options)
            try sandbox.sh("mkdir $M/snapshots/one; grep \" $M fuse.backupfs \" /proc/self/mounts")
            try sandbox.unmount()
            try sandbox.fails("backupfs mount --store $S $M -o noatime,frobnicate", saying: "frobnicate", exitCode: 2)
            try sandbox.fails("backupfs mount --store $S $M -o uid=me", saying: "uid=me", exitCode: 2)
            #expect(sandbox.mounts == [])
        }
    }

    @Test func `a read-only mount refuses every change`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/one")
            try sandbox.write(SampleDocument.text, to: "new.json")
            try sandbox.unmount()
            try sandbox.mount(options: "-o ro")
            for command in ["mkdir $M/snapshots/two", "rmdir $M/snapshots/one", "cp $R/new.json $M/restore/"] {
                try sandbox.fails(command, saying: "Read-only file system")
            }
            #expect(try sandbox.names("snapshots") == ["latest", "one"])
        }
    }

    @Test func `a machine without FUSE gets a message that says so`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            let hide = "unshare -m bash -e -c 'mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3"
            guard Machine.isRoot, try sandbox.run("\(hide)'").exitCode == 0 else { return }
            let result = try sandbox.fails("\(hide); backupfs mount --store $S $M'", saying: "/dev/fuse", exitCode: 1)
            #expect(result.errors.hasPrefix("backupfs: "))
        }
    }

    /// Not of the program, but of the tests: a namespace that kept the mounts of others would keep their processes.
    @Test(.enabled(if: Machine.isRoot)) func `a mount ends while another test has a namespace`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            try sandbox.mount()
            try Sandbox.use { other in
                try other.sh("touch $R/hold")
                let namespace = try other.startInNamespace("touch $R/begun; wait_until '! [ -e $R/hold ]'")
                try other.sh("wait_until '[ -e $R/begun ]'")
                try sandbox.unmountStore()
                try other.sh("rm $R/hold")
                #expect(try namespace.wait().exitCode == 0)
            }
        }
    }
}
