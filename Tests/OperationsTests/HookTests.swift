import Foundation
import TestSupport
import Testing

/// The user's commands around a restore.
struct HookTests {
    private func withHooks(_ before: String?, _ after: String?, _ more: String = "", _ body: (Sandbox) throws -> Void) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --store $S --label one >/dev/null; sqlite3 $S/app/database.sqlite 'delete from photos'")
        let settings = [before.map { "before-restore: '\($0)'" }, after.map { "after-restore: '\($0)'" }, more].compactMap { $0 }
        let text = try sandbox.sh("cat $S/store.yaml")
        try sandbox.write(text + "\n" + settings.joined(separator: "\n") + "\n", to: "store/store.yaml")
        try body(sandbox)
    }

    private func count(_ sandbox: Sandbox) throws -> String {
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos'")
    }

    @Test func `they run before and after, with nothing but what they need`() throws {
        let note =
            "echo $BACKUPFS_HOOK $BACKUPFS_STRATEGY $BACKUPFS_RESULT $(sqlite3 app/database.sqlite \"select count(*) from photos\") >> notes"
        try withHooks("\(note); env | sort; echo problem >&2", note) { sandbox in
            try sandbox.sh("SECRET=x backupfs restore one --yes --store $S >/dev/null")
            #expect(try sandbox.sh("cat $S/notes") == "before-restore replace 0\nafter-restore success 3")
            let report = try json(Array(sandbox.sh("cat $S/restore/last.json").utf8))
            let hooks = try #require(report["hooks"] as? [[String: Any]])
            #expect(hooks.map { $0["name"] as? String } == ["before-restore", "after-restore"])
            #expect(hooks.allSatisfy { $0["exitCode"] as? Int == 0 && $0["timedOut"] as? Bool == false })
            let output = try #require(hooks[0]["output"] as? String)
            #expect(output.hasSuffix("problem\n") && output.contains("BACKUPFS_FILE=one\n"))
            #expect(!output.contains("SECRET"))
        }
    }

    @Test(arguments: [
        ("echo told; exit 7", "", "exit code 7"), ("sleep 60", "hook-timeout-seconds: \"1\"", "it took too long and was ended"),
        ("trap : TERM; sleep 60; sleep 60", "hook-timeout-seconds: \"1\"", "it took too long and was ended"),
        ("kill -9 $$", "", "ended by signal 9"), ("/no/such/program", "", "exit code 127"),
    ])
    func `when the first fails nothing is restored, and the service is started again`(
        command: String, more: String, told: String
    ) throws {
        try withHooks(command, "echo $BACKUPFS_RESULT > started", more) { sandbox in
            let result = try sandbox.run("backupfs restore one --yes --store $S")
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("the command before-restore failed: \(told)"), "\(result.errors)")
            #expect(try count(sandbox) == "0")
            #expect(try sandbox.sh("cat $S/started") == "failed")
            #expect(try sandbox.sh("ls -A $S/repository/snapshots | wc -l") == "1", "no safety backup was made for nothing")
            #expect(try sandbox.sh(PhotoDiary.leftovers + "\nls $S | grep hook || true") == "")
        }
    }

    @Test func `when the second fails the restore stands, and the failure is reported`() throws {
        try withHooks(nil, "echo could not start; exit 3") { sandbox in
            let text = try sandbox.sh("backupfs restore one --yes --store $S")
            #expect(text.contains("Warning: the command after-restore failed: exit code 3\n- could not start"))
            #expect(try count(sandbox) == "3")
        }
    }

    @Test func `a refused file and a preview run none`() throws {
        try withHooks("echo x > ran", "echo x > ran") { sandbox in
            try sandbox.sh("echo '{}' > $R/bad.json; ! backupfs restore $R/bad.json --yes --store $S 2>/dev/null")
            try sandbox.sh("backupfs restore one --dry-run --store $S >/dev/null; ! ls $S/ran 2>/dev/null")
        }
    }

    @Test(arguments: ["restore.safety-made", "restore.before-commit", "restore.committed", "restore.journal-removed"])
    func `after a crash the next start runs the second`(point: String) throws {
        try withHooks("echo stopped > state", "echo started > state") { sandbox in
            let result = try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": point])
            #expect(result.exitCode != 0)
            try sandbox.sh("backupfs status --store $S >/dev/null")
            #expect(try sandbox.sh("cat $S/state") == "started", "\(point)")
            #expect(try sandbox.sh("ls $S | grep hook || true") == "")
        }
    }

    /// The command records its beginning and end. It and its child need a while to end. It writes to no pipe, since the other end
    /// may be gone.
    private static let slow = """
        exec >/dev/null 2>&1; sh -c "trap \\"sleep 0.5; echo child ended >> notes; exit\\" TERM; : > ready; while :; do sleep 0.05; done" &
        trap "sleep 0.2; echo ended >> notes; exit 1" TERM; for turn in $(seq 1000); do [ -e ready ] && break; sleep 0.02; done;
        echo begun >> notes; while :; do sleep 0.05; done
        """

    @Test(arguments: ["INT", "TERM"])
    func `a restore that is cancelled ends the first and runs the second after it`(signal: String) throws {
        try withHooks(Self.slow, "echo started >> notes") { sandbox in
            let result = try sandbox.run(
                """
                set -m; backupfs restore one --yes --store $S & restore=$!
                wait_until grep -q begun $S/notes
                kill -\(signal) $restore; wait $restore
                """)
            #expect(result.exitCode == 130, "\(result)")
            #expect(!result.errors.contains("does not answer"), "\(result)")
            #expect(try sandbox.sh("cat $S/notes") == "begun\nended\nchild ended\nstarted")
            #expect(try count(sandbox) == "0")
            #expect(try sandbox.sh("ls $S | grep hook || true") == "")
        }
    }

    @Test func `a command that does not end when its restore is cancelled is killed at its time limit`() throws {
        try withHooks(
            "trap : TERM; echo begun >> notes; echo $$ > pid; while :; do sleep 0.05; done",
            "kill -0 $(cat pid) 2>/dev/null && echo beside >> notes; echo started >> notes", "hook-timeout-seconds: \"3\""
        ) { sandbox in
            let result = try sandbox.run(
                """
                set -m; backupfs restore one --yes --store $S & restore=$!
                wait_until [ -e $S/pid ]
                kill -INT $restore; wait $restore
                """)
            #expect(result.exitCode == 130, "\(result)")
            #expect(try sandbox.sh("cat $S/notes") == "begun\nstarted")
        }
    }

    @Test func `after a crash the next start ends the first before it runs the second`() throws {
        try withHooks(Self.slow, "echo started >> notes") { sandbox in
            _ = try sandbox.run(
                """
                set -m; backupfs restore one --yes --store $S & restore=$!
                wait_until grep -q begun $S/notes
                kill -9 $restore; wait $restore; backupfs status --store $S
                """)
            #expect(try sandbox.sh("cat $S/notes") == "begun\nended\nchild ended\nstarted")
        }
    }

    @Test func `what the first leaves running in the background goes on`() throws {
        try withHooks("sleep 300 & echo $! > pid", "kill $(cat pid) && echo was running > notes") { sandbox in
            try sandbox.sh("backupfs restore one --yes --store $S >/dev/null")
            #expect(try sandbox.sh("cat $S/notes") == "was running")
        }
    }

    @Test func `settings that cannot be are refused`() throws {
        for value in ["0", "-1", "soon", "1000000"] {
            try withHooks(nil, nil, "hook-timeout-seconds: \"\(value)\"") { sandbox in
                let result = try sandbox.run("backupfs status --store $S")
                #expect(result.exitCode == 1)
                #expect(result.errors.contains("Give a whole number of seconds from 1 to 86400."))
            }
        }
    }
}
