import Foundation
import TestSupport
import Testing

@testable import Operations

/// Messages of commands, each of which appears once.
struct CommandMessageTests {
    private func room() throws -> Room {
        let room = try Room()
        try room.sh("backupfs init --sample --store $S >/dev/null; backupfs backup --label one --store $S >/dev/null")
        return room
    }

    @Test func `a file of another app is reported as one`() throws {
        let room = try room()
        try room.write(
            #"{"version":1,"exportDate":"2026-01-12T08:00:00Z","entries":[],"intakeTypes":[],"goals":[]}"#, to: "k.json")
        let refused = try room.run("backupfs restore $R/k.json --yes --store $S")
        #expect(refused.status == 1)
        #expect(
            refused.complaint.contains(
                "Import failed: this is an export of KeepTrack, and this store is for EV Charging Tracker"), "\(refused)")
        #expect(refused.complaint.contains("backupfs init --app keeptrack") && !refused.complaint.contains("missing field"))
        #expect(refused.complaint.contains("\nNothing was changed.\n") && !refused.complaint.contains("Run the same command"))
        // The message for a file of no known app is unchanged.
        try room.write(#"{"entries":[]}"#, to: "x.json")
        #expect(try room.run("backupfs restore $R/x.json --yes --store $S").complaint.contains("missing field metadata"))
    }

    @Test func `retry and the last error know what failed, and nothing that was refused`() throws {
        let room = try room()
        #expect(try room.run("backupfs backup --label one --store $S").status == 1)
        #expect(try room.run("echo '{}' > $R/x.json; backupfs restore $R/x.json --yes --store $S").status == 1)
        #expect(try room.run("backupfs restore $R/none.json --yes --store $S").status == 1)
        #expect(try room.sh("backupfs status --json --store $S | jq .lastError") == "null")
        #expect(try room.run("backupfs retry --store $S").complaint.contains("there is nothing to retry"))
    }

    @Test(arguments: ["nosuch", "$R/none.json", "$R/empty.json"])
    func `what stays wrong is not said to be worth another try`(source: String) throws {
        let room = try room()
        try room.sh("touch $R/empty.json")
        let result = try room.run("backupfs restore \(source) --yes --store $S")
        #expect(result.status == 1 && !result.complaint.contains("Run the same command"), "\(result)")
    }

    @Test func `SAF-08, ERR-07: a restore that fails says what it puts back, that the data is as it was, and where it is safe`()
        throws
    {
        let room = try room()
        let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"
        try room.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 3'")
        let before = try room.sh(dump)
        let failed = try room.run(
            "backupfs restore one --yes --log-file $R/log --store $S", ["BACKUPFS_FAULT": "restore.before-commit=fail"])
        let safety = try room.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].file_name'")
        #expect(failed.status == 1)
        #expect(
            failed.complaint == """
                Import failed. Restoring previous data...
                backupfs: one: an injected fault at restore.before-commit
                The data is as it was.
                Safety backup of the data before: safety/\(safety)
                Run the same command to try again.

                """)
        #expect(try room.sh(dump) == before)
        // SAF-08: the line is in the log, before that of the restore's end.
        let log = try room.sh("jq -r '[.op, .phase, .result] | @csv' $R/log").split(separator: "\n").suffix(2)
        #expect(log == ["\"restore\",\"rollback\",", "\"restore\",\"ended\",\"failed\""], "\(log)")
    }

    @Test func `ERR-04: a damaged backup is reported as one, with the way to restore the rest`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh("head -c 300000 /dev/urandom > $S/app/photos/one.jpg; backupfs backup --label one --store $S")
        // In the middle of the photo: the export, the database and the folders stay intact.
        try room.sh(
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
        let refused = try room.run("backupfs restore one --yes --store $S")
        #expect(refused.status == 1)
        #expect(
            refused.complaint.contains(
                "one: This backup file is corrupted and cannot be restored. Restore its undamaged parts with: backupfs restore --allow-damaged one\n"
            ), "\(refused)")
        #expect(refused.complaint.contains("chunk") && !refused.complaint.contains("Run the same command"))
        let rest = try room.run("backupfs restore one --allow-damaged --yes --store $S")
        #expect(rest.status == 3 && rest.output.contains("Left out"), "\(rest)")
        #expect(try room.sh("cat $S/app/photos/2024/two.jpg") == "two")
    }

    @Test func `a preview before the question is not printed again after the restore`() throws {
        let room = try room()
        let asked = try room.onTerminal("yes\\n", "backupfs restore one --store $S")
        #expect(asked.status == 0)
        for line in ["Schema version: 1", "\nExpenses: 1200\n", "This cannot be undone."] {
            #expect(asked.output.components(separatedBy: line).count == 2, "\(line): \(asked.output)")
        }
        #expect(asked.output.contains("Undo with: backupfs undo"))
        // Without a question, nothing was shown before.
        #expect(try room.sh("backupfs restore one --yes --store $S").contains("\nSchema version: 1\n"))
    }

    @Test(arguments: [
        ("restore one", "Import and Replace All Data"), ("delete one", "Delete"), ("delete --all", "Delete All"),
    ])
    func `VAL-16, VAL-17, DEL-01, DEL-02: questions about what removes data are red, and Ctrl-C there changes nothing`(
        command: String, word: String
    ) throws {
        let room = try room()
        let before = try room.sh("sqlite3 -readonly $S/app/database.sqlite .dump; backupfs snapshots --json --store $S")
        let cancelled = try room.onTerminal("\\u0003", "backupfs \(command) --store $S")
        #expect(cancelled.status == 130, "\(cancelled)")
        #expect(cancelled.output.contains("backupfs: cancelled; nothing was changed\n"), "\(cancelled.output)")
        let lines = cancelled.output.split(separator: "\n")
        let question = try #require(lines.first { $0.contains("Type \"\(word)\"") })
        #expect(question.hasPrefix("\u{1B}[31m") && question.contains("[Cancel]\u{1B}[0m: "), "\(question)")
        #expect(try room.sh("sqlite3 -readonly $S/app/database.sqlite .dump; backupfs snapshots --json --store $S") == before)
        #expect(try room.sh("backupfs snapshots --safety --json --store $S | jq length") == "0")
        let plain = try room.onTerminal("no\\n", "backupfs \(command) --store $S", ["NO_COLOR": "1"])
        #expect(plain.status == 130 && !plain.output.contains("\u{1B}"), "\(plain)")
    }

    @Test func `-n is a dry run wherever there is one`() throws {
        let room = try room()
        try room.sh("backupfs restore one --yes --store $S >/dev/null; mkdir $R/old")
        let state =
            "find $S/repository $S/app -type f -not -name '*-shm' -not -name '*-wal' -not -path '*/locks/*' -not -name 'catalog.sqlite*' -print0 | sort -z | xargs -0 md5sum"
        let before = try room.sh(state)
        for command in ["backup", "restore one", "restore one --target $R/t", "undo", "forget --keep-last 1", "prune"] {
            #expect(try room.run("backupfs \(command) -n --store $S").status == 0, "\(command)")
        }
        #expect(try room.sh(state) == before)
        #expect(try room.run("backupfs app migrate $R/old -n --store $S").complaint.contains("Unknown option") == false)
    }

    @Test func `-q says nothing of what was done, -v tells each step`() throws {
        let room = try room()
        for command in [
            "backup --label two", "restore one --yes", "undo --yes", "delete two --yes", "forget --keep-last 1 --yes", "prune",
            "check", "verify one",
        ] {
            for option in ["-q", "--quiet"] where option == "-q" || command == "check" {
                let quiet = try room.run("backupfs \(command) \(option) --store $S")
                #expect(quiet.status == 0 && quiet.output == "" && quiet.complaint == "", "\(command): \(quiet)")
            }
        }
        // The requested output is printed.
        #expect(try room.sh("backupfs snapshots -q --store $S").contains("one"))
        #expect(
            try room.run("backupfs restore nosuch --yes -q --store $S").complaint.contains(
                "there is no such file, and no such backup"))
        let verbose = try room.run("backupfs backup -v --store $S")
        #expect(
            verbose.complaint.hasPrefix("Creating backup...\n") && verbose.complaint.hasSuffix("Backup complete\n"), "\(verbose)")
        #expect(try room.run("backupfs backup -q -v --store $S").status == 2)
    }

    @Test func `help is wrapped once, by the width of the terminal`() throws {
        let room = try Room()
        let verbs = try room.sh("backupfs --help").split(separator: "\n").compactMap { line in
            line.firstMatch(of: /^  ([a-z]+) .*[A-Z]/).map { String($0.1) }
        }
        #expect(verbs.count > 25 && verbs.contains("undo"))
        for verb in verbs {
            // On a terminal this wide each paragraph is one line: consecutive lines were broken by hand.
            let help = try room.sh("backupfs \(verb) --help", ["COLUMNS": "2000"]).split(
                separator: "\n", omittingEmptySubsequences: false)
            let prose = help.prefix { !$0.hasPrefix("USAGE") }
            for (line, next) in zip(prose, prose.dropFirst()) where !line.isEmpty && !next.isEmpty && !line.hasSuffix(":") {
                #expect(line.hasPrefix("  ") && next.hasPrefix("  "), "\(verb): \(line)")
            }
            // And no example is broken on a terminal of usual width.
            let narrow = try room.sh("backupfs \(verb) --help", ["COLUMNS": "80"]).split(
                separator: "\n", omittingEmptySubsequences: false)
            for line in narrow.drop(while: { $0 != "Example:" }).dropFirst().prefix(while: { !$0.isEmpty }) {
                #expect(line.hasPrefix("  "), "\(verb): \(line)")
            }
        }
    }
}
