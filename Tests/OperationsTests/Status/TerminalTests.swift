import Foundation
import Testing

@testable import Operations

/// Output that appears at a terminal only.
struct TerminalTests {
    private static let escape = "\u{1B}"

    private func room() throws -> Room {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null")
        return room
    }

    @Test func `L10-04: a green mark for what has succeeded, a red one for what has failed`() throws {
        let room = try room()
        let made = try room.onTerminal("", "backupfs backup --label one --store $S")
        #expect(made.output == "\(Self.escape)[32m✓\(Self.escape)[0m one\n" && made.status == 0)
        let failed = try room.onTerminal("", "backupfs backup --label one --store $S")
        #expect(failed.output.hasPrefix("\(Self.escape)[31m✗\(Self.escape)[0m backupfs: ") && failed.status == 1)
    }

    @Test(arguments: ["NO_COLOR", "TERM"]) func `L10-02: nothing but text where nothing else is wanted`(variable: String) throws {
        let room = try room()
        let environment = [variable: variable == "TERM" ? "dumb" : "1"]
        let made = try room.onTerminal("", "backupfs backup --label one --store $S", environment)
        #expect(made.output == "✓ one\n")
        let failed = try room.onTerminal("", "backupfs backup --label one --store $S", environment)
        #expect(failed.output.hasPrefix("✗ backupfs: "))
        let slow = try slowBackup(room, environment)
        #expect(slow.contains("Creating backup... ") && !slow.contains(Self.escape), "\(slow)")
        let watched = try room.onTerminal("", "timeout -s TERM 1 backupfs status --watch 0.1 --store $S", environment)
        #expect(watched.output.contains("Nothing is running.") && !watched.output.contains(Self.escape))
    }

    @Test func `L10-02: off a terminal there are neither marks nor escapes`() throws {
        let room = try room()
        let made = try room.run("backupfs backup --label one --store $S")
        #expect(made.output == "one\n" && made.complaint == "")
        let failed = try room.run("backupfs backup --label one --store $S")
        #expect(failed.complaint.hasPrefix("backupfs: ") && failed.output == "")
    }

    /// A backup that pauses for more than two seconds before it does anything.
    private func slowBackup(_ room: Room, _ environment: [String: String] = [:]) throws -> String {
        let fault = ["BACKUPFS_FAULT": "backup.begun=pause:\(room("pause"))"].merging(environment) { $1 }
        return try room.onTerminal(
            "", "bash -c 'touch $R/pause; (sleep 2.5; rm $R/pause) & backupfs backup --store $S >/dev/null; wait'", fault
        ).output
    }

    @Test func `PRG-09: progress is shown of what takes longer than two seconds`() throws {
        let room = try room()
        #expect(try room.onTerminal("", "bash -c 'backupfs backup --store $S > /dev/null'").output == "")
        let slow = try slowBackup(room)
        #expect(slow.contains("\(Self.escape)[KCreating backup... "), "\(slow)")
        #expect(slow.contains(" %"))
    }

    @Test func `it is followed in place, and Ctrl-C ends it`() throws {
        let room = try room()
        let script = """
            import os, pty, sys, time
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
        try room.write(script, to: "watch.py")
        #expect(try room.sh("python3 $R/watch.py $S") == "0 True True")
    }

    @Test func `ERR-06: a restore that failed is tried again when a user says so`() throws {
        let room = try room()
        try room.sh("backupfs backup --label one --store $S >/dev/null")
        let fault = ["BACKUPFS_FAULT": "restore.before-commit=fail"]
        let again = try room.onTerminal("y\\n", "backupfs restore one --yes --store $S", fault)
        #expect(again.status == 0, "\(again.output)")
        #expect(again.output.contains("an injected fault") && again.output.contains("Try again? [y/N] <answered>"))
        #expect(again.output.contains("\(Self.escape)[32m✓\(Self.escape)[0m "))
        #expect(try room.sh("jq -r .result $S/restore/last.json") == "success")
        let enough = try room.onTerminal("n\\n", "backupfs restore one --yes --store $S", fault)
        #expect(enough.status == 1 && !enough.output.contains("✓"))
        let elsewhere = try room.run("backupfs restore one --yes --store $S", fault)
        #expect(elsewhere.status == 1 && elsewhere.complaint.hasSuffix("\nRun the same command to try again.\n"))
        #expect(!elsewhere.complaint.contains("Try again? "))
    }
}
