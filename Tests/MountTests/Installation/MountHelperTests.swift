import TestSupport
import Testing

/// mount(8) and /etc/fstab, through the installed helper. Mounts made here are not visible to other processes.
@Suite(
    .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"),
    .enabled(if: Machine.isRoot && Machine.hasTool("unshare"), "NOT TESTED: mount(8) with a helper of ours needs root"))
struct MountHelperTests {
    private func withStore(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.withInstallation { sandbox in
            try sandbox.sh("backupfs init --store $S --sample")
            try body(sandbox)
        }
    }

    @Test func `mount -t backupfs mounts, and umount ends it`() throws {
        try withStore { sandbox in
            let text = try sandbox.inNamespace(
                """
                mount -t backupfs $S $M -o ro,nofail,x-systemd.automount,x-gvfs-show
                findmnt -no SOURCE,FSTYPE $M
                findmnt -no OPTIONS $M | tr , '\\n' | grep -x ro
                jq -r '.cars[0].name' $M/live/export.json
                umount $M
                findmnt $M || echo gone
                """)
            let lines = text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            #expect(lines == ["\(sandbox.storePath) fuse.backupfs", "ro", "Tesla Model 3", "gone"])
            #expect(sandbox.waitForProcesses())
        }
    }

    @Test func `a line of fstab is enough, and mount -a does it once`() throws {
        try withStore { sandbox in
            try sandbox.sh("mv $S \"$R/with, comma\"; mkdir $R/second; backupfs init --store $R/other")
            try sandbox.write(
                """
                \(sandbox.path)/with,\\040comma \(sandbox.mountpoint) backupfs nofail,noatime,user,x-systemd.automount 0 0
                none \(sandbox.path)/second backupfs noauto,store=\(sandbox.path)/other 0 0

                """, to: "fstab")
            let text = try sandbox.inNamespace(
                """
                mount -T $R/fstab $M
                mkdir $M/snapshots/one; ls $M/snapshots
                umount $M
                mount -T $R/fstab -a; mount -T $R/fstab -a
                findmnt -rno SOURCE $M
                LIBMOUNT_FSTAB=$R/fstab mount $R/second
                findmnt -no SOURCE $R/second
                umount $R/second
                umount $M
                """)
            #expect(text == "latest\none\n\(sandbox.path)/with,\\x20comma\nbackupfs")
            #expect(sandbox.waitForProcesses())
        }
    }

    @Test func `a user mounts and unmounts what fstab lets him`() throws {
        try withStore { sandbox in
            try sandbox.sh("rm $R/bin/backupfs; chown -R nobody $S $M $R/home $R/tmp; chmod 755 $R")
            try sandbox.write("\(sandbox.storePath) \(sandbox.mountpoint) backupfs noauto,user 0 0\n", to: "fstab")
            let text = try sandbox.inNamespace(
                """
                mknod -m 666 $R/fuse c 10 229
                mount --bind $R/fuse /dev/fuse
                mount --bind $R/fstab /etc/fstab
                user='setpriv --reuid=65534 --regid=65534 --clear-groups'
                $user mount $M
                $user stat -c '%u' $M/README.txt
                findmnt -no OPTIONS $M | tr , '\\n' | grep -E 'user_id|nosuid|nodev|noexec' | tr '\\n' ' '
                ls $M 2>/dev/null || echo 'nobody else'
                $user umount $M
                findmnt $M || echo gone
                """)
            #expect(text == "65534\nnosuid nodev noexec user_id=65534 nobody else\ngone")
            #expect(sandbox.waitForProcesses())
        }
    }

    /// Systemd's part of `x-systemd.automount`: a folder where open blocks until something is mounted on it. The mounting process
    /// must not open it.
    private static let automount = """
        import ctypes, os, subprocess, sys
        library = ctypes.CDLL(None, use_errno=True)
        reader, writer = os.pipe()
        mountpoint = os.environ["M"]
        options = f"fd={writer},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct".encode()
        if library.mount(b"automount", mountpoint.encode(), b"autofs", 0, options) != 0: sys.exit(os.strerror(ctypes.get_errno()))
        os.set_blocking(reader, False)
        command = ["timeout", "-s", "KILL", "30", "mount", "-t", "backupfs", os.environ["S"], mountpoint]
        print(subprocess.run(command, start_new_session=True).returncode)
        try: print("asked for", len(os.read(reader, 1000)))
        except BlockingIOError: print("nobody opened it")
        print(" ".join(sorted(os.listdir(mountpoint + "/snapshots"))))
        """
    private static let hasAutomounts = Job.read("/proc/filesystems").contains("\tautofs\n")

    @Test(.enabled(if: hasAutomounts, "NOT TESTED: the kernel has no autofs"))
    func `an automount is mounted on without being opened`() throws {
        try withStore { sandbox in
            try sandbox.sh("backupfs backup --store $S --label one")
            try sandbox.write(Self.automount, to: "automount.py")
            let text = try sandbox.inNamespace("python3 $R/automount.py; umount $M; umount $M")
            #expect(text == "0\nnobody opened it\nlatest one")
            #expect(sandbox.waitForProcesses())
        }
    }

    @Test func `what cannot be mounted is an error of mount(8), and says why`() throws {
        try withStore { sandbox in
            let text = try sandbox.inNamespace(
                """
                try() { "$@" 2>&1 && echo "exit 0" || echo "exit $?"; }
                try mount -t backupfs $R/none $M
                try mount -t backupfs $S $M -o frobnicate
                try mount -t backupfs $S $R/nowhere
                try /sbin/mount.backupfs $S
                try mount -f -t backupfs $S $M
                findmnt $M || echo nothing
                """)
            #expect(
                text.contains(
                    "there is no backupfs store here. Make one with: backupfs init --store \(sandbox.path)/none\nexit 32"))
            #expect(text.contains("the mount option \"frobnicate\" is not known"))
            #expect(text.contains("the store and the mountpoint are missing"))
            #expect(text.matches(of: /exit \d+/).map { String($0.0) } == ["exit 32", "exit 1", "exit 32", "exit 1", "exit 0"])
            #expect(text.hasSuffix("nothing"))
        }
    }
}
