import Glibc
import TestSupport
import Testing

/// The mount in the foreground, as a systemd service.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct ServiceTests {
    /// A service manager: writes each message it receives on a line. It is ready once `$R/told` exists, and ends with
    /// `STOPPING=1`.
    private static let manager = """
        import os, socket, sys
        name = sys.argv[1]
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        receiver.bind("\\0" + name[1:] if name[0] == "@" else name)
        with open(os.environ["R"] + "/told", "w") as log:
            message = ""
            while message != "STOPPING=1":
                message = receiver.recv(4096).decode()
                print(message.replace("\\n", "|"), file=log, flush=True)
        """

    private func withManager(_ address: String, _ body: (Sandbox, Job) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S --sample")
            try sandbox.write(Self.manager, to: "manager.py")
            let manager = try sandbox.start("exec python3 $R/manager.py \(address)")
            try sandbox.wait(for: "\(sandbox.path)/told")
            try body(sandbox, manager)
            kill(manager.process, SIGKILL)
            _ = try manager.wait()
        }
    }

    private func waitForWord(_ word: String, _ sandbox: Sandbox) throws {
        try sandbox.sh("wait_until grep -q '\(word)' $R/told")
    }

    @Test(arguments: ["$R/notify", "@backupfs-test-$$"], ["SIGTERM", "fusermount3"])
    func `it says when the mount answers and when it ends`(address: String, end: String) throws {
        // The names of abstract sockets are global to the machine.
        let address = address.replacing("$$", with: "\(getpid())-\(end)")
        try withManager(address) { sandbox, manager in
            let mount = try sandbox.start("NOTIFY_SOCKET=\(address) exec backupfs mount --foreground --store $S $M")
            try waitForWord("READY=1", sandbox)
            #expect(sandbox.mounts == [sandbox.mountpoint])
            try sandbox.sh("cd $M; ls; cat status.json | jq .app")
            if end == "SIGTERM" { mount.send(SIGTERM) } else { try sandbox.sh("fusermount3 -u $M") }
            #expect(try mount.wait().exitCode == 0)
            _ = try manager.wait()
            #expect(
                Job.read("\(sandbox.path)/told").split(separator: "\n")
                    == ["READY=1|STATUS=Serves \(sandbox.storePath) on \(sandbox.mountpoint)", "STOPPING=1"])
            #expect(sandbox.mounts == [])
        }
    }

    @Test func `commands of a restore do not speak for the service`() throws {
        try withManager("$R/notify") { sandbox, _ in
            try sandbox.sh("echo \"before-restore: \\\"env > $R/environment\\\"\" >> $S/store.yaml")
            let mount = try sandbox.start("NOTIFY_SOCKET=$R/notify exec backupfs mount -f --store $S $M")
            try waitForWord("READY=1", sandbox)
            try sandbox.sh("cp $M/live/export.json $R/; cp $R/export.json $M/restore/")
            let names = try sandbox.sh("cut -d= -f1 $R/environment").split(separator: "\n")
            #expect(names.contains("PATH") && !names.contains("NOTIFY_SOCKET"))
            mount.send(SIGTERM)
            #expect(try mount.wait().exitCode == 0)
        }
    }

    @Test func `a mount in the background is no service`() throws {
        try withManager("$R/notify") { sandbox, _ in
            try sandbox.sh("NOTIFY_SOCKET=$R/notify backupfs mount --store $S $M; ls $M")
            // In its own session, so that a terminal's signals do not reach it.
            for daemon in sandbox.daemons { #expect(getsid(daemon) == daemon) }
            #expect(sandbox.daemons.count == 1)
            try sandbox.sh("backupfs umount --store $S")
            #expect(sandbox.mounts == [])
            #expect(Job.read("\(sandbox.path)/told") == "")
        }
    }

    @Test func `a manager that cannot be notified is a warning, and the mount serves`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh("backupfs init --store $S")
            for address in ["$R/nobody", "nonsense", "vsock:2:1234"] {
                let mount = try sandbox.start("NOTIFY_SOCKET=\(address) exec backupfs mount -f --store $S $M")
                try sandbox.wait(for: "\(sandbox.mountpoint)/README.txt")
                try sandbox.sh("ls $M/snapshots")
                mount.send(SIGTERM)
                let result = try mount.wait()
                #expect(result.exitCode == 0)
                let reason =
                    address == "$R/nobody"
                    ? "could not notify the service manager: No such file or directory"
                    : "$NOTIFY_SOCKET names no socket that can be written to"
                #expect(result.errors.contains(reason), "\(address): \(result.text)")
            }
        }
    }

    @Test func `the store that cannot be opened is an error before anything is said`() throws {
        try withManager("$R/notify") { sandbox, _ in
            try sandbox.fails(
                "NOTIFY_SOCKET=$R/notify backupfs mount -f --store $R/none $M", saying: "there is no backupfs store here",
                exitCode: 10)
            #expect(Job.read("\(sandbox.path)/told") == "")
        }
    }
}
