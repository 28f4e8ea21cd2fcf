import Foundation
import TestSupport
import Testing

@testable import Operations

/// Messages of commands, each of which appears once.
struct CommandMessageTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null")
        return sandbox
    }

    @Test func `a file of another app is reported as one`() throws {
        let sandbox = try sandbox()
        try sandbox.write(
            #"{"version":1,"exportDate":"2026-01-12T08:00:00Z","entries":[],"intakeTypes":[],"goals":[]}"#, to: "k.json")
        let refused = try sandbox.run("backupfs restore $R/k.json --yes --store $S")
        #expect(refused.exitCode == 1)
        #expect(
            refused.errors.contains(
                "Import failed: this is an export of KeepTrack, and this store is for EV Charging Tracker"), "\(refused)")
        #expect(refused.errors.contains("backupfs init --app keeptrack") && !refused.errors.contains("missing field"))
        #expect(refused.errors.contains("\nNothing was changed.\n") && !refused.errors.contains("Run the same command"))
        // The message for a file of no known app is unchanged.
        try sandbox.write(#"{"entries":[]}"#, to: "x.json")
        #expect(try sandbox.run("backupfs restore $R/x.json --yes --store $S").errors.contains("missing field metadata"))
    }

    @Test func `retry and the last error know what failed, and nothing that was refused`() throws {
        let sandbox = try sandbox()
        #expect(try sandbox.run("backupfs backup --label one --store $S").exitCode == 1)
        #expect(try sandbox.run("echo '{}' > $R/x.json; backupfs restore $R/x.json --yes --store $S").exitCode == 1)
        #expect(try sandbox.run("backupfs restore $R/none.json --yes --store $S").exitCode == 1)
        #expect(try sandbox.sh("backupfs status --json --store $S | jq .lastError") == "null")
        #expect(try sandbox.run("backupfs retry --store $S").errors.contains("there is nothing to retry"))
    }

    @Test(arguments: ["nosuch", "$R/none.json", "$R/empty.json"])
    func `what stays wrong is not said to be worth another try`(source: String) throws {
        let sandbox = try sandbox()
        try sandbox.sh("touch $R/empty.json")
        let result = try sandbox.run("backupfs restore \(source) --yes --store $S")
        #expect(result.exitCode == 1 && !result.errors.contains("Run the same command"), "\(result)")
    }

    @Test func `SAF-08, ERR-07: a restore that fails says what it puts back, that the data is as it was, and where it is safe`()
        throws
    {
        let sandbox = try sandbox()
        let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 3'")
        let before = try sandbox.sh(dump)
        let failed = try sandbox.run(
            "backupfs restore one --yes --log-file $R/log --store $S", ["BACKUPFS_FAULT": "restore.before-commit=fail"])
        let safety = try sandbox.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].file_name'")
        #expect(failed.exitCode == 1)
        #expect(
            failed.errors == """
                Import failed. Restoring previous data...
                backupfs: one: an injected fault at restore.before-commit
                The data is as it was.
                Safety backup of the data before: safety/\(safety)
                Run the same command to try again.

                """)
        #expect(try sandbox.sh(dump) == before)
        // SAF-08: the line is in the log, before that of the restore's end.
        let log = try sandbox.sh("jq -r '[.op, .phase, .result] | @csv' $R/log").split(separator: "\n").suffix(2)
        #expect(log == ["\"restore\",\"rollback\",", "\"restore\",\"ended\",\"failed\""], "\(log)")
    }

    @Test func `ERR-04: a damaged backup is reported as one, with the way to restore the rest`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("head -c 300000 /dev/urandom > $S/app/photos/one.jpg; backupfs backup --label one --store $S")
        // In the middle of the photo: the export, the database and the folders stay intact.
        try sandbox.sh(
            """
            python3 - <<'P'
            import glob, os
            wanted = open(os.environ['S'] + '/app/photos/one.jpg', 'rb').read()[150000:150064]
            for path in glob.glob(os.environ['S'] + '/repository/packs/*/*'):
                data = bytearray(open(path, 'rb').read()); at = data.find(wanted)
                if at >= 0: data[at + 7] ^= 255; data[at + 9] ^= 255; os.chmod(path, 0o600); open(path, 'wb').write(data); print('hit')
            P
            rm $S/app/photos/one.jpg
            """)
        let refused = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(refused.exitCode == 1)
        #expect(
            refused.errors.contains(
                "one: This backup file is corrupted and cannot be restored. Restore its undamaged parts with: backupfs restore --allow-damaged one\n"
            ), "\(refused)")
        #expect(refused.errors.contains("chunk") && !refused.errors.contains("Run the same command"))
        let rest = try sandbox.run("backupfs restore one --allow-damaged --yes --store $S")
        #expect(rest.exitCode == 3 && rest.output.contains("Left out"), "\(rest)")
        #expect(try sandbox.sh("cat $S/app/photos/2024/two.jpg") == "two")
    }

    @Test func `a preview before the question is not printed again after the restore`() throws {
        let sandbox = try sandbox()
        let asked = try sandbox.onTerminal("yes\\n", "backupfs restore one --store $S")
        #expect(asked.exitCode == 0)
        for line in ["Schema version: 1", "\nExpenses: 1200\n", "This cannot be undone."] {
            #expect(asked.output.components(separatedBy: line).count == 2, "\(line): \(asked.output)")
        }
        #expect(asked.output.contains("Undo with: backupfs undo"))
        // Without a question, nothing was shown before.
        #expect(try sandbox.sh("backupfs restore one --yes --store $S").contains("\nSchema version: 1\n"))
    }

    @Test(arguments: [
        ("restore one", "Import and Replace All Data"), ("delete one", "Delete"), ("delete --all", "Delete All"),
    ])
    func `VAL-16, VAL-17, DEL-01, DEL-02: questions about what removes data are red, and Ctrl-C there changes nothing`(
        command: String, word: String
    ) throws {
        let sandbox = try sandbox()
        let before = try sandbox.sh("sqlite3 -readonly $S/app/database.sqlite .dump; backupfs snapshots --json --store $S")
        let cancelled = try sandbox.onTerminal("\\u0003", "backupfs \(command) --store $S")
        #expect(cancelled.exitCode == 130, "\(cancelled)")
        #expect(cancelled.output.contains("backupfs: cancelled; nothing was changed\n"), "\(cancelled.output)")
        let lines = cancelled.output.split(separator: "\n")
        let question = try #require(lines.first { $0.contains("Type \"\(word)\"") })
        #expect(question.hasPrefix("\u{1B}[31m") && question.contains("[Cancel]\u{1B}[0m: "), "\(question)")
        #expect(try sandbox.sh("sqlite3 -readonly $S/app/database.sqlite .dump; backupfs snapshots --json --store $S") == before)
        #expect(try sandbox.sh("backupfs snapshots --safety --json --store $S | jq length") == "0")
        let plain = try sandbox.onTerminal("no\\n", "backupfs \(command) --store $S", ["NO_COLOR": "1"])
        #expect(plain.exitCode == 130 && !plain.output.contains("\u{1B}"), "\(plain)")
    }

    @Test func `-n is a dry run wherever there is one`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs restore one --yes --store $S >/dev/null; mkdir $R/old")
        let state =
            "find $S/repository $S/app -type f -not -name '*-shm' -not -name '*-wal' -not -path '*/locks/*' -not -name 'catalog.sqlite*' -print0 | sort -z | xargs -0 md5sum"
        let before = try sandbox.sh(state)
        for command in ["backup", "restore one", "restore one --target $R/t", "undo", "forget --keep-last 1", "prune"] {
            #expect(try sandbox.run("backupfs \(command) -n --store $S").exitCode == 0, "\(command)")
        }
        #expect(try sandbox.sh(state) == before)
        #expect(try sandbox.run("backupfs app migrate $R/old -n --store $S").errors.contains("Unknown option") == false)
    }

    @Test func `-q says nothing of what was done, -v tells each step`() throws {
        let sandbox = try sandbox()
        for command in [
            "backup --label two", "restore one --yes", "undo --yes", "delete two --yes", "forget --keep-last 1 --yes", "prune",
            "check", "verify one",
        ] {
            for option in ["-q", "--quiet"] where option == "-q" || command == "check" {
                let quiet = try sandbox.run("backupfs \(command) \(option) --store $S")
                #expect(quiet.exitCode == 0 && quiet.output == "" && quiet.errors == "", "\(command): \(quiet)")
            }
        }
        // The requested output is printed.
        #expect(try sandbox.sh("backupfs snapshots -q --store $S").contains("one"))
        #expect(
            try sandbox.run("backupfs restore nosuch --yes -q --store $S").errors.contains(
                "there is no such file, and no such backup"))
        let verbose = try sandbox.run("backupfs backup -v --store $S")
        #expect(
            verbose.errors.hasPrefix("Creating backup...\n") && verbose.errors.hasSuffix("Backup complete\n"), "\(verbose)")
        #expect(try sandbox.run("backupfs backup -q -v --store $S").exitCode == 2)
    }

    @Test func `help is wrapped once, by the width of the terminal`() throws {
        let sandbox = try Sandbox()
        let verbs = try sandbox.sh("backupfs --help").split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^  ([a-z]+) .*[A-Z]/).map { String($0.1) }
        }
        #expect(verbs.count > 25 && verbs.contains("undo"))
        for verb in verbs {
            // On a terminal this wide each paragraph is one line: consecutive lines were broken by hand.
            let help = try sandbox.sh("backupfs \(verb) --help", ["COLUMNS": "2000"]).split(
                separator: "\n", omittingEmptySubsequences: false)
            let prose = help.prefix { !$0.hasPrefix("USAGE") }
            for (line, next) in zip(prose, prose.dropFirst()) where !line.isEmpty && !next.isEmpty && !line.hasSuffix(":") {
                #expect(line.hasPrefix("  ") && next.hasPrefix("  "), "\(verb): \(line)")
            }
            // And no example is broken on a terminal of usual width.
            let narrow = try sandbox.sh("backupfs \(verb) --help", ["COLUMNS": "80"]).split(
                separator: "\n", omittingEmptySubsequences: false)
            for line in narrow.drop(while: { $0 != "Example:" }).dropFirst().prefix(while: { !$0.isEmpty }) {
                #expect(line.hasPrefix("  "), "\(verb): \(line)")
            }
        }
    }
}
