import Glibc
import TestSupport
import Testing

/// Mounting and unmounting, from the first command on a new machine to the state after a crash.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct LifecycleTests {
    static let rootNames = ["README.txt", "exports", "live", "restore", "safety", "snapshots", "status.json"]

    @Test func `the first mount makes the default store and is ready when it returns`() throws {
        try Room.use { room in
            // In a command substitution: the mount must not keep the shell's pipe open.
            #expect(try room.sh("said=$(backupfs $M); ls $M; echo \"said: $said\"").hasSuffix("status.json\nsaid: "))
            #expect(try room.names("") == Self.rootNames)
            try room.sh("test -f $XDG_DATA_HOME/backupfs/store.yaml")
            #expect(
                try room.sh("jq -c '[keys_unsorted, (.cars|length), (.expenses|length)]' $M/live/export.json")
                    == #"[["metadata","cars","expenses","plannedMaintenance","delayedNotifications","userSettings"],0,0]"#)
            try room.sh("mkdir $M/snapshots/first")
            try room.unmount()
            try room.sh("backupfs mount $M")
            #expect(try room.names("snapshots") == ["first", "latest"])
            try room.unmount()
        }
    }

    @Test func `without XDG_DATA_HOME the default store lies below the home folder`() throws {
        try Room.use { room in
            try room.sh("env -u XDG_DATA_HOME backupfs $M; test -f $HOME/.local/share/backupfs/store.yaml")
            try room.unmount()
        }
    }

    @Test func `the store is named by an option, by a mount option or by the environment`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            for command in ["backupfs mount --store $S $M", "backupfs $M -o store=$S", "BACKUPFS_STORE=$S backupfs $M"] {
                try room.sh(command)
                #expect(try room.sh("jq -r .store $M/status.json") == room.storePath, "\(command)")
                try room.unmount()
            }
            try room.fails("backupfs mount --store $R/none $M", saying: "there is no backupfs store here", exitCode: 10)
        }
    }

    @Test func `CON-01: a store is mounted once at a time, and the message says where`() throws {
        try Room.withMount { room in
            let refused = try room.fails(
                "mkdir $R/other; backupfs mount --store $S $R/other", saying: "the store is mounted already", exitCode: 11)
            #expect(refused.errors.contains(room.mountpoint))
            try room.fails("backupfs mount -f --store $S $R/other", saying: "the store is mounted already", exitCode: 11)
            #expect(try room.names("") == Self.rootNames)
            try room.fails(
                "backupfs init --store $R/second; backupfs mount --store $R/second $M",
                saying: "backupfs is mounted here already",
                exitCode: 11)
            #expect(room.mounts == [room.mountpoint])
        }
    }

    @Test func `a mountpoint that cannot be used is refused with a reason`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            try room.fails("backupfs mount --store $S $R/missing", saying: "the mountpoint does not exist", exitCode: 1)
            try room.sh("echo precious > $M/mine")
            try room.fails("backupfs mount --store $S $M", saying: "the mountpoint is not empty", exitCode: 1)
            #expect(try room.sh("cat $M/mine") == "precious")
            try room.fails("backupfs mount --store $S $M/mine", saying: "the mountpoint is not a folder", exitCode: 1)
            try room.fails("backupfs mount --store $S", saying: "mountpoint", exitCode: 2)
            try room.sh("backupfs mount --store $S $M -o nonempty")
            try room.unmount()
            #expect(try room.sh("cat $M/mine") == "precious")
        }
    }

    @Test func `the mount that a crash left is cleared by the next one`() throws {
        try Room.withMount("--sample") { room in
            try room.sh("mkdir $M/snapshots/before")
            let sums = try room.sh("cat $M/snapshots/before/SHA256SUMS")
            try room.crash()
            #expect(room.mounts == [room.mountpoint])
            // The kernel returns ECONNABORTED to the first request, and ENOTCONN to all others.
            _ = try room.run("ls $M")
            try room.fails("ls $M", saying: "Transport endpoint is not connected")
            try room.mount()
            #expect(room.mounts == [room.mountpoint])
            #expect(try room.sh("cat $M/snapshots/before/SHA256SUMS") == sums)
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal ends a foreground mount cleanly`(signal: Int32) throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            let job = try room.start("exec backupfs mount -f --store $S $M")
            try room.wait(for: "\(room.mountpoint)/status.json")
            job.send(signal)
            let result = try job.wait()
            #expect(result.exitCode == 0, "\(result.text)")
            #expect(room.mounts == [])
            try room.sh("rmdir $M && mkdir $M")
        }
    }

    @Test func `fusermount3 ends a foreground mount with exit code 0`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            let job = try room.start("exec backupfs -f --store $S $M")
            try room.wait(for: "\(room.mountpoint)/status.json")
            try room.sh("fusermount3 -u $M")
            let result = try job.wait()
            #expect(result.exitCode == 0, "\(result.text)")
        }
    }

    @Test func `SIGTERM ends a background mount`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S; backupfs mount --store $S $M")
            let daemon = try #require(room.daemons.first)
            #expect(kill(daemon, SIGTERM) == 0)
            #expect(room.waitForProcesses())
            #expect(room.mounts == [])
            try room.mount()
            try room.unmount()
        }
    }

    @Test func `umount unmounts, by mountpoint or by store, and the store can be mounted again at once`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            for command in ["backupfs umount --store $S", "backupfs umount $M", "backupfs umount --store $S $M"] {
                try room.mount()
                try room.sh(command)
                #expect(room.mounts == [])
            }
            try room.sh("backupfs mount --store $S $M && backupfs umount --store $S && backupfs mount --store $S $M")
            try room.unmount()
            try room.fails("backupfs umount $M", saying: "nothing is mounted here", exitCode: 1)
            try room.fails("backupfs umount --store $S", saying: "the store is not mounted", exitCode: 1)
        }
    }

    @Test func `CON-03: a mount in use is not taken away`() throws {
        try Room.withMount { room in
            try room.fails("exec 3<$M/README.txt; backupfs umount $M", saying: "has files open", exitCode: 11)
            try room.fails("cd $M/live; fusermount3 -u $M; code=$?; cd /; exit $code", saying: "busy")
            #expect(try room.names("") == Self.rootNames)
        }
    }

    @Test func `options for fstab and systemd are taken, unknown ones are not`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            let options = "-o rw,x-systemd.automount,x-systemd.idle-timeout=60,nofail,_netdev,noauto,noatime,nodev,nosuid,user"
            try room.mount(options: options)
            try room.sh("mkdir $M/snapshots/one; grep \" $M fuse.backupfs \" /proc/self/mounts")
            try room.unmount()
            try room.fails("backupfs mount --store $S $M -o noatime,frobnicate", saying: "frobnicate", exitCode: 2)
            try room.fails("backupfs mount --store $S $M -o uid=me", saying: "uid=me", exitCode: 2)
            #expect(room.mounts == [])
        }
    }

    @Test func `a read-only mount refuses every change`() throws {
        try Room.withMount { room in
            try room.sh("mkdir $M/snapshots/one")
            try room.write(SampleDocument.text, to: "new.json")
            try room.unmount()
            try room.mount(options: "-o ro")
            for command in ["mkdir $M/snapshots/two", "rmdir $M/snapshots/one", "cp $R/new.json $M/restore/"] {
                try room.fails(command, saying: "Read-only file system")
            }
            #expect(try room.names("snapshots") == ["latest", "one"])
        }
    }

    @Test func `a machine without FUSE gets a message that says so`() throws {
        try Room.use { room in
            try room.sh("backupfs init --store $S")
            let hide = "unshare -m bash -e -c 'mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3"
            guard Machine.isRoot, try room.run("\(hide)'").exitCode == 0 else { return }
            let result = try room.fails("\(hide); backupfs mount --store $S $M'", saying: "/dev/fuse", exitCode: 1)
            #expect(result.errors.hasPrefix("backupfs: "))
        }
    }
}
