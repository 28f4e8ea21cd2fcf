import TestSupport
import Testing

/// The commands: help, JSON, exit codes, and that they work beside a running mount.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct CommandTests {
    static let verbs = [
        "init", "mount", "umount", "backup", "snapshots", "ls", "restore", "export", "diff", "find", "tag", "pin", "unpin",
        "stats", "verify", "status",
    ]

    @Test func `every verb has help with an example`() throws {
        try Sandbox.use { sandbox in
            let overview = try sandbox.sh("backupfs --help")
            for verb in Self.verbs {
                #expect(overview.contains("  \(verb)"), "\(verb)")
                let help = try sandbox.sh("backupfs \(verb) --help")
                #expect(help.contains("Example:\n") && help.contains("  backupfs"), "\(help)")
                #expect(help.contains("--store"), "\(verb)")
                #expect(try sandbox.sh("backupfs help \(verb)") == help)
            }
            #expect(try sandbox.sh("backupfs --version").wholeMatch(of: /[0-9]+\.[0-9]+.*/) != nil)
            // A reader that goes away does not cause a crash.
            try sandbox.sh("set +o pipefail; backupfs --help | head -1")
        }
    }

    @Test func `exit codes are those of the documentation`() throws {
        try Sandbox.use { sandbox in
            for command in [
                "backupfs backup --store $S", "backupfs snapshots --store $S", "backupfs ls latest --store $S",
                "backupfs status --store $S",
                "backupfs export --store $S", "backupfs restore x.json --store $S",
            ] {
                let result = try sandbox.fails(command, saying: "there is no backupfs store here", exitCode: 10)
                #expect(result.errors.contains("backupfs init --store \(sandbox.storePath)") && result.output.isEmpty)
            }
            try sandbox.fails("backupfs frobnicate --store $S --bogus", saying: "no command \"frobnicate\"", exitCode: 2)
            try sandbox.fails("backupfs backup --bogus", saying: "--bogus", exitCode: 2)
            try sandbox.fails("backupfs ls", saying: "snap", exitCode: 2)
            try sandbox.fails("backupfs", saying: "mountpoint", exitCode: 2)
            try sandbox.sh("backupfs init --store $S")
            try sandbox.fails("backupfs init --store $S", saying: "there is a backupfs store here already", exitCode: 1)
            try sandbox.fails(
                "mkdir $R/full; touch $R/full/x; backupfs init --store $R/full", saying: "something else is here already",
                exitCode: 1)
            try sandbox.fails("backupfs init --store $R/x --app nonsense", saying: "there is no app called nonsense", exitCode: 1)
            try sandbox.fails(
                "backupfs init --store $R/x --database $R/none.sqlite", saying: "there is no database here", exitCode: 1)
            #expect(try sandbox.sh("ls -d $R/x* 2>/dev/null || echo none") == "none")
            try sandbox.fails("backupfs ls nothing --store $S", saying: "there is no such backup", exitCode: 1)
            try sandbox.fails("backupfs ls latest --store $S", saying: "there are no backups yet", exitCode: 1)
            try sandbox.sh("backupfs backup --store $S --label one")
            try sandbox.fails(
                "backupfs backup --store $S --label one", saying: "there is a backup of that name already", exitCode: 1)
            try sandbox.fails("backupfs backup --store $S --label latest", saying: "", exitCode: 1)
            try sandbox.fails("backupfs ls one:none --store $S", saying: "there is no such file in the backup", exitCode: 1)
            try sandbox.fails("backupfs restore one --store $S", saying: "Add --yes", exitCode: 2)
            try sandbox.fails("backupfs restore $R/none.json --yes --store $S", saying: "none.json", exitCode: 1)
            try sandbox.fails("backupfs export --json --zip --store $S", saying: "", exitCode: 2)
        }
    }

    @Test func `JSON is JSON everywhere`() throws {
        try Sandbox.use { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            #expect(try sandbox.sh("backupfs init --store $S --sample --json | jq -r .message_type") == "initialized")
            #expect(
                try sandbox.sh("backupfs backup --store $S --dry-run --json | jq -c '[.message_type, .records.expenses]'")
                    == #"["dry_run",1200]"#)
            #expect(
                try sandbox.sh(
                    """
                    backupfs backup --store $S --label one --tag manual --json |
                    jq -s -c '[.[-1].message_type, .[-1].snapshot, (.[0]|has("message_type"))]'
                    """
                )
                    == #"["summary","one",true]"#)
            #expect(
                try sandbox.sh(
                    "backupfs snapshots --store $S --json | jq -c '.[] | [.name, .pinned, .attributes.tag, .attributes.app]'")
                    == #"["one",false,"manual","ev-charging-tracker"]"#)
            #expect(
                try sandbox.sh("backupfs ls one --store $S --json | jq -c '[.[] | select(.type == \"file\")] | length'") == "9")
            #expect(try sandbox.sh("backupfs ls one:data --store $S --json | jq -r '.[0].path'").hasSuffix("cars.json"))
            #expect(
                try sandbox.sh("backupfs status --store $S --json | jq -c '[.app, .snapshotCount, .lastBackup.name]'")
                    == #"["ev-charging-tracker",1,"one"]"#)
            #expect(try sandbox.sh("backupfs restore $R/old.json --dry-run --store $S --json | jq -r .result") == "preview")
            #expect(
                try sandbox.sh(
                    "backupfs restore $R/old.json --yes --store $S --json | jq -s -c '.[-1] | [.result, .counts.cars]'")
                    == #"["success",1]"#)
            #expect(try sandbox.sh("backupfs mount --store $S --json $M | jq -r .message_type") == "mounted")
            #expect(try sandbox.sh("backupfs umount --store $S --json | jq -r .mountpoint") == sandbox.mountpoint)
        }
    }

    @Test func `what a command does the mount shows at once, and the other way round`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            #expect(try sandbox.names("snapshots") == [])
            for number in 1...5 {
                try sandbox.sh("backupfs backup --store $S --label b\(number)")
                #expect(try sandbox.names("snapshots") == (1...number).map { "b\($0)" } + ["latest"])
                #expect(try sandbox.sh("readlink $M/snapshots/latest") == "b\(number)")
                try sandbox.sh("cd $M/snapshots/b\(number); sha256sum --quiet -c SHA256SUMS")
            }
            try sandbox.sh("mkdir $M/snapshots/made; rmdir $M/snapshots/b3; mv $M/snapshots/b4 $M/snapshots/renamed")
            #expect(
                try sandbox.sh("backupfs snapshots --store $S --json | jq -r '.[].name'").split(separator: "\n").sorted()
                    == ["b1", "b2", "b5", "made", "renamed"])
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("backupfs restore $R/old.json --yes --store $S")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1")
            #expect(try sandbox.names("safety").count == 1)
            #expect(try sandbox.report(".file").hasSuffix("old.json"))
            try sandbox.sh("backupfs restore b1 --yes --store $S")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1200")
            let listing = try sandbox.sh("backupfs ls latest --store $S")
            #expect(listing.contains("database.sqlite") && listing.contains("data/cars.json"), "\(listing)")
        }
    }

    @Test func `restore needs a yes, and a dry run changes nothing`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.write(SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 99\n"), to: "bad.json")
            let before = try sandbox.state()
            try sandbox.fails("backupfs restore $R/old.json --store $S </dev/null", saying: "Add --yes", exitCode: 2)
            let dry = try sandbox.sh("backupfs restore $R/old.json --dry-run --store $S")
            #expect(dry.hasSuffix("Importing will DELETE ALL existing data. This cannot be undone."))
            let refused = try sandbox.fails(
                "backupfs restore $R/bad.json --yes --store $S", saying: "Import failed: expense 1 refers to unknown car 99",
                exitCode: 1)
            #expect(refused.errors.contains("bad.json"))
            // At a terminal: everything but the exact words means no.
            for answer in ["", "Cancel", "y", "no"] {
                try sandbox.sh(
                    """
                    printf '%s\\n' "$A" | script -qec "backupfs restore $R/old.json --store $S" /dev/null > $R/said ||
                    echo cancelled >> $R/said
                    grep -q cancelled $R/said
                    """,
                    ["A": answer])
            }
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            try sandbox.sh(
                "printf 'Import and Replace All Data\\n' | script -qec \"backupfs restore $R/old.json --store $S\" /dev/null")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1")
        }
    }

    @Test func `exports are the files of the tree`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/one $R/out; cd $R/out; backupfs export --store $S one --json -o one.json
                cmp one.json $M/snapshots/one/export.json
                """,
                Sandbox.fixedClock)
            try sandbox.sh(
                """
                backupfs export --store $S --json -o - | cmp - $M/live/export.json
                backupfs export latest --zip --store $S -o - | cmp - $M/snapshots/one/archive.zip
                """,
                Sandbox.fixedClock)
            #expect(
                try sandbox.sh("cd $R/out; backupfs export --store $S", Sandbox.fixedClock)
                    == "ev_charging_tracker_export_2026-01-11_14-30-00.json")
            try sandbox.sh("cd $R/out; cmp ev_charging_tracker_export_2026-01-11_14-30-00.json $M/live/export.json")
            try sandbox.fails("backupfs export --store $S -o /dev/full", saying: "")
            try sandbox.fails("backupfs export --store $S -o $R/nowhere/x.json", saying: "nowhere")
            #expect(try sandbox.sh("ls -A $R/out") == "ev_charging_tracker_export_2026-01-11_14-30-00.json\none.json")
        }
    }

    @Test func `CSV for spreadsheets holds the same records`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite \"update expenses set notes = 'a, \\\"b\\\"' || char(10) || 'Ж' where id = 1\"")
            try sandbox.sh("mkdir $M/snapshots/one")
            for (arguments, export) in [("", "$M/live/export.json"), ("one ", "$M/snapshots/one/export.json")] {
                try sandbox.sh("rm -rf $R/csv; backupfs export \(arguments)--csv $R/csv --store $S")
                #expect(try sandbox.names("../csv").count == 4)
                let result = try sandbox.sh(
                    """
                    python3 - \(export) <<'END'
                    import csv, json, os, sys
                    document = json.load(open(sys.argv[1], encoding="utf-8"))
                    for name in ["cars", "expenses", "plannedMaintenance", "delayedNotifications"]:
                        rows = list(csv.DictReader(open(f"{os.environ['R']}/csv/{name}.csv", encoding="utf-8-sig", newline="")))
                        records = document[name]
                        assert len(rows) == len(records), name
                        for row, record in zip(rows, records):
                            for key, value in record.items():
                                text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                                assert row[key] == text, (name, key, row[key], text)
                    print("same")
                    END
                    """)
                #expect(result == "same")
            }
        }
    }

    @Test func `an app's own files are adopted where they lie`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $R/maker --sample; mkdir $R/app
                sqlite3 $R/maker/app/database.sqlite "vacuum into '$R/app/mine.sqlite'"
                """
            )
            try sandbox.sh(
                "backupfs init --store $S --database $R/app/mine.sqlite --repository $R/repository; backupfs mount --store $S $M")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1200")
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("mkdir $M/snapshots/one; cp $R/old.json $M/restore/; test -d $R/repository/packs -o -d $R/repository")
            #expect(try sandbox.sh("sqlite3 $R/app/mine.sqlite 'select name from cars'") == "Tesla Model 3")
            try sandbox.unmount()
            try sandbox.fails(
                """
                sqlite3 $R/wrong.sqlite 'create table t(a)'
                backupfs init --store $R/x --app ev-charging-tracker --database $R/wrong.sqlite
                """, saying: "there is no table", exitCode: 1)
            // Any other database is an app as well.
            try sandbox.sh(
                """
                sqlite3 $R/wrong.sqlite 'insert into t values (1)'; backupfs init --store $R/x --database $R/wrong.sqlite
                backupfs export --json -o $R/t.json --store $R/x; jq -c .t $R/t.json | grep -Fx '[{"rowid":1,"a":1}]'
                """)
            // A repository is continued in another store.
            try sandbox.sh(
                """
                backupfs init --store $R/second --repository $R/repository
                backupfs ls one --store $R/second | grep -q export.json
                """
            )
        }
    }
}
