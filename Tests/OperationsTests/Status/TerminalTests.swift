import Foundation
import TestSupport
import Testing

@testable import Operations

/// Output that appears at a terminal only.
struct TerminalTests {
    private static let escape = "\u{1B}"

    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        return sandbox
    }

    @Test func `L10-04: a green mark for what has succeeded, a red one for what has failed`() throws {
        let sandbox = try sandbox()
        let made = try sandbox.onTerminal("", "backupfs backup --label one --store $S")
        #expect(made.output == "\(Self.escape)[32m✓\(Self.escape)[0m one\n" && made.exitCode == 0)
        let failed = try sandbox.onTerminal("", "backupfs backup --label one --store $S")
        #expect(failed.output.hasPrefix("\(Self.escape)[31m✗\(Self.escape)[0m backupfs: ") && failed.exitCode == 1)
    }

    @Test(arguments: ["NO_COLOR", "TERM"]) func `L10-02: nothing but text where nothing else is wanted`(variable: String) throws {
        let sandbox = try sandbox()
        let environment = [variable: variable == "TERM" ? "dumb" : "1"]
        let made = try sandbox.onTerminal("", "backupfs backup --label one --store $S", environment)
        #expect(made.output == "✓ one\n")
        let failed = try sandbox.onTerminal("", "backupfs backup --label one --store $S", environment)
        #expect(failed.output.hasPrefix("✗ backupfs: "))
        let slow = try slowBackup(sandbox, environment)
        #expect(slow.contains("Creating backup... ") && !slow.contains(Self.escape), "\(slow)")
        let watched = try sandbox.onTerminal("", "timeout -s TERM 1 backupfs status --watch 0.1 --store $S", environment)
        #expect(watched.output.contains("Nothing is running.") && !watched.output.contains(Self.escape))
    }

    @Test func `L10-02: off a terminal there are neither marks nor escapes`() throws {
        let sandbox = try sandbox()
        let made = try sandbox.run("backupfs backup --label one --store $S")
        #expect(made.output == "one\n" && made.errors == "")
        let failed = try sandbox.run("backupfs backup --label one --store $S")
        #expect(failed.errors.hasPrefix("backupfs: ") && failed.output == "")
    }

    /// A backup that pauses for more than two seconds before it does anything.
    private func slowBackup(_ sandbox: Sandbox, _ environment: [String: String] = [:]) throws -> String {
        let fault = ["BACKUPFS_FAULT": "backup.begun=pause:\(sandbox("pause"))"].merging(environment) { $1 }
        try sandbox.sh("touch $R/pause")
        let resuming = try sandbox.start("wait_until [ -e $R/pause.reached ]; sleep 2.1; rm $R/pause $R/pause.reached")
        let shown = try sandbox.onTerminal("", "bash -c 'backupfs backup --store $S >/dev/null'", fault).output
        _ = try resuming.wait()
        return shown
    }

    @Test func `PRG-09: progress is shown of what takes longer than two seconds`() throws {
        let sandbox = try sandbox()
        #expect(try sandbox.onTerminal("", "bash -c 'backupfs backup --store $S > /dev/null'").output == "")
        let slow = try slowBackup(sandbox)
        #expect(slow.contains("\(Self.escape)[KCreating backup... "), "\(slow)")
        #expect(slow.contains(" %"))
    }

    @Test func `it is followed in place, and Ctrl-C ends it`() throws {
        let sandbox = try sandbox()
        let script = """
            import os, pty, signal, sys
            signal.alarm(60)
            process, terminal = pty.fork()
            if process == 0:
                os.execvp("backupfs", ["backupfs", "status", "--watch", "0.1", "--store", sys.argv[1]])
            shown = b""
            while shown.count(b"Nothing is running.") < 3:
                shown += os.read(terminal, 1000)
            os.write(terminal, b"\\x03")
            while True:
                try:
                    more = os.read(terminal, 1000)
                except OSError:
                    break
                if not more:
                    break
                shown += more
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.count(b"\\x1b[H") >= 3, shown.startswith(b"\\x1b[H"))
            """
        try sandbox.write(script, to: "watch.py")
        #expect(try sandbox.sh("python3 $R/watch.py $S") == "0 True True")
    }

    @Test func `ERR-06: a restore that failed is tried again when a user says so`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs backup --label one --store $S >/dev/null")
        let fault = ["BACKUPFS_FAULT": "restore.before-commit=fail"]
        let again = try sandbox.onTerminal("y\\n", "backupfs restore one --yes --store $S", fault)
        #expect(again.exitCode == 0, "\(again.output)")
        #expect(again.output.contains("an injected fault") && again.output.contains("Try again? [y/N] <answered>"))
        #expect(again.output.contains("\(Self.escape)[32m✓\(Self.escape)[0m "))
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "success")
        let enough = try sandbox.onTerminal("n\\n", "backupfs restore one --yes --store $S", fault)
        #expect(enough.exitCode == 1 && !enough.output.contains("✓"))
        let elsewhere = try sandbox.run("backupfs restore one --yes --store $S", fault)
        #expect(elsewhere.exitCode == 1 && elsewhere.errors.hasSuffix("\nRun the same command to try again.\n"))
        #expect(!elsewhere.errors.contains("Try again? "))
    }
}
