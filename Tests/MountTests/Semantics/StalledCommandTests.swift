import Glibc
import TestSupport
import Testing

/// Commands that open a store or a repository whose storage does not respond.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct StalledCommandTests {
    /// The part on the stalling disk.
    enum Part: String, CaseIterable, Sendable { case store, repository }

    private func withStore(_ part: Part, _ body: (Sandbox, SandboxDisk) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.withDisk { disk in
                if part == .store { sandbox.variables["S"] = "\(disk.path)/store" }
                let place = part == .store ? "" : "--repository \(disk.path)/repository"
                try sandbox.sh("backupfs init --store $S --sample \(place); backupfs backup --store $S --label one")
                disk.stall()
                try body(sandbox, disk)
                disk.goOn()
                try sandbox.sh("backupfs status --check 1d --store $S; backupfs check --store $S")
            }
        }
    }

    @Test(arguments: Part.allCases)
    func `a command that waits for storage which does not answer says so, and ends at a signal`(part: Part) throws {
        try withStore(part) { sandbox, disk in
            try sandbox.looks(
                """
                verbs = [["status"], ["snapshots"], ["ls", "one"], ["check"], ["backup"], ["mount", M], ["stats", "--json"]]
                def run(verb):
                    return subprocess.Popen(["backupfs", *verb, "--store", S], stdout=subprocess.DEVNULL, stderr=open(R + "/said-" + verb[0], "w"),
                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                os.chdir("/")
                running = [(verb[0], run(verb)) for verb in verbs]
                for name, process in running:
                    said = lambda: open(R + "/said-" + name).read()
                    assert until(lambda: "does not answer" in said(), 20), (name, said())
                    assert said().count("\\n") == 1 and R + "/disk/\(part)" in said(), (name, said())
                    assert process.poll() is None, name
                for turn, (name, process) in enumerate(running):
                    process.send_signal(signal.SIGINT if turn % 2 else signal.SIGTERM)
                    assert ends(process, 3) in (-2, -15, 130), (name, process.returncode)
                """)
        }
    }

    @Test(arguments: Part.allCases)
    func `a command gives up when storage has not answered for a minute`(part: Part) throws {
        try withStore(part) { sandbox, disk in
            sandbox.variables["BACKUPFS_STALL_SECONDS"] = "4"
            try sandbox.looks(
                """
                os.chdir("/")
                told, code, took = look("backupfs", "status", "--check", "1d", "--store", S, limit=30)
                assert code == 1 and "the storage does not answer" in told and R + "/disk/\(part)" in told and took > 3.5, (told, code, took)
                told, code, took = look("backupfs", "snapshots", "--json", "--store", S, limit=30)
                error = json.loads(told.splitlines()[-1])
                assert code == 1 and error["error"] == "inputOutput" and error["remedy"], (told, code, took)
                """)
            sandbox.variables["BACKUPFS_STALL_SECONDS"] = nil
        }
    }
}
