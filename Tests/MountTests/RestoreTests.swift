import TestSupport
import Testing

/// Restoring by copying a file: the data comes out as it went in.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct RestoreTests {
    /// Requirements FEV-01, FEV-03, FEV-04, FEV-05, FEV-06, FEV-07, FEV-12, RST-18.
    @Test func `the app's own example comes out byte for byte but for createdAt`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("cp $R/old.json $M/restore/")
            try sandbox.sh("diff <(grep -v '^    \"createdAt\"' $R/old.json) <(grep -v '^    \"createdAt\"' $M/live/export.json)")
            #expect(try sandbox.sh("grep -c '^    \"createdAt\"' $M/live/export.json") == "1")
            // With the clock of the example, byte for byte.
            try sandbox.remount(Sandbox.fixedClock)
            try sandbox.sh(
                "cmp $R/old.json $M/live/export.json; mkdir $M/snapshots/one; cmp $R/old.json $M/snapshots/one/export.json")
            #expect(try sandbox.report(".message") == "Imported 1 cars, 1 expenses, 1 maintenance records, 1 notifications.")
        }
    }

    @Test func `with confirm-restores a replace needs a file CONFIRM, and other restores do not`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            // It counts at once.
            try sandbox.sh("backupfs config set confirm-restores yes --store $S")
            try sandbox.write(SampleDocument.text, to: "old.json")
            let before = try sandbox.state()
            for place in ["restore", "restore/replace"] {
                try sandbox.fails("cp $R/old.json $M/\(place)/", saying: "Operation not permitted")
                try sandbox.sh("grep -q 'CONFIRM in restore/' \"$M/restore/LAST RESULT - NOT RESTORED.txt\"")
            }
            try sandbox.sh("grep -q 'make a file named CONFIRM' $M/restore/README.txt")
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            // A bad file is refused for what is wrong with it.
            try sandbox.fails("echo '{' > $R/bad.json; cp $R/bad.json $M/restore/", saying: "Invalid argument")
            try sandbox.sh("head -n 1 $M/restore/last.txt | grep -q '^bad.json: not restored'")
            try sandbox.sh("cp $R/old.json $M/restore/preview/; cp $R/old.json $M/restore/skip/")
            try sandbox.sh(": > $M/restore/CONFIRM; cp $R/old.json $M/restore/; test ! -e $M/restore/CONFIRM")
            #expect(try sandbox.names("restore").contains("LAST RESULT - RESTORED.txt"))
            try sandbox.sh("cmp <(jq .expenses $M/live/export.json) <(jq .expenses $R/old.json)")
            try sandbox.fails("cp $M/safety/* $M/restore/replace/", saying: "Operation not permitted")
            try sandbox.fails("echo '{' > $R/bad.json; cp $R/bad.json $M/restore/", saying: "Invalid argument")
            #expect(try sandbox.names("restore").contains("LAST RESULT - NOT RESTORED.txt"))
            // The command asks itself.
            try sandbox.sh("backupfs restore $R/old.json --yes --store $S")
        }
    }

    @Test func `the report tells what came and how to undo it`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("cp $R/old.json $M/restore/")
            #expect(
                try sandbox.names("restore") == [
                    "LAST RESULT - RESTORED.txt", "README.txt", "last.json", "last.txt", "merge", "old.json", "preview",
                    "replace", "skip",
                ])
            try sandbox.sh("cmp $M/restore/last.txt \"$M/restore/LAST RESULT - RESTORED.txt\"")
            try sandbox.sh("grep -q 'cp old.json restore/preview/' $M/restore/README.txt")
            // No file can be dropped under these names.
            for name in ["LAST RESULT - RESTORED.txt", "LAST RESULT.json", "README.txt"] {
                try sandbox.fails("cp $R/old.json \"$M/restore/\(name)\"", saying: "Read-only file system")
            }
            #expect(
                try sandbox.report(
                    "[.result, .success, .file, .format, .source.deviceName, .counts.expenses, (.errors|length)] | @json")
                    == #"["success",true,"old.json","json","iPhone 15 Pro",1,0]"#)
            #expect(try sandbox.report(".safetyBackup") == "safety_backup_before_import_2026-01-11_14-30-00.json")
            let text = try sandbox.sh("cat $M/restore/last.txt")
            #expect(text.hasPrefix("old.json: Imported 1 cars, 1 expenses, 1 maintenance records, 1 notifications."))
            #expect(text.contains("Or in the mount: cp safety/safety_backup_before_import_2026-01-11_14-30-00.json restore/"))
            try sandbox.sh("cd $M; $(sed -n 's/^Or in the mount: //p' restore/last.txt)")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1200")
            // The command undoes that, and then its own restore; with and without the mount.
            try sandbox.sh("$(sed -n 's/^Undo with: //p' $M/restore/last.txt) --yes")
            #expect(try sandbox.sh("jq '.expenses|length' $M/live/export.json") == "1")
            let command = try sandbox.sh("sed -n 's/^Undo with: //p' $M/restore/last.txt")
            try sandbox.unmount()
            try sandbox.sh("cd /; \(command) --yes")
            #expect(try sandbox.sh("backupfs export -o - --store $S | jq '.expenses|length'") == "1200")
            try sandbox.mount()
        }
    }

    @Test func `SAF-07: a dropped archive is taken back with all media, by the printed command and by cp`() throws {
        try PhotoDiary.withMount { sandbox in
            let dump = "sqlite3 -readonly $S/app/database.sqlite .dump"
            try sandbox.sh(
                """
                mkdir $M/snapshots/one; cp $M/snapshots/one/archive.zip $R/one.zip
                printf changed > $P/changed.jpg; mkdir -p $P/new; printf new > $P/new/n.jpg
                sqlite3 $S/app/database.sqlite "insert into photos values (77, 'changed.jpg', 'here')"; cp -a $P $R/before
                """)
            let before = try sandbox.sh(dump)
            for way in [
                "$(sed -n 's/^Undo with: //p' restore/last.txt) --yes", "$(sed -n 's/^Or in the mount: //p' restore/last.txt)",
            ] {
                try sandbox.sh("cp $R/one.zip $M/restore/; ! [ -e $P/new/n.jpg ]")
                #expect(try sandbox.sh(dump) != before)
                try sandbox.sh("cd $M; \(way); diff -r $R/before $P")
                #expect(try sandbox.sh(dump) == before, "\(way)")
            }
            #expect(
                try sandbox.sh("backupfs snapshots --safety --json --store $S | jq -r '.[].file_name' | sort")
                    == sandbox.sh("ls $M/safety | sort"))
        }
    }

    @Test(arguments: ["replace", "merge", "skip"])
    func `SAF-07: each strategy's folder is taken back by the printed command`(strategy: String) throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("sqlite3 $S/app/database.sqlite \"delete from expenses where id > 9; update cars set name = 'mine'\"")
            let before = try sandbox.state()
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("cp $R/old.json $M/restore/\(strategy)/; $(sed -n 's/^Undo with: //p' $M/restore/last.txt) --yes")
            #expect(try sandbox.state() == before)
        }
    }

    @Test(arguments: [
        "$M/snapshots/one/export.json", "$M/snapshots/one/archive.zip", "$M/snapshots/one/database.sqlite", "$M/exports/*",
    ])
    func `whatever the tree gives out it takes back`(source: String) throws {
        try Sandbox.withMount("--sample") { sandbox in
            let before = try sandbox.state()
            try sandbox.sh(
                """
                mkdir $M/snapshots/one
                sqlite3 $S/app/database.sqlite "delete from expenses; update cars set name='x'; delete from user_settings"
                """
            )
            #expect(try sandbox.state() != before)
            try sandbox.sh("cp \(source) $M/restore/")
            #expect(
                try sandbox.liveExport() + "\n" == sandbox.sh(
                    "sed '0,/\"createdAt\"/{/\"createdAt\"/d}' $M/snapshots/one/export.json")
                    + "\n")
            #expect(try sandbox.state() == before)
        }
    }

    @Test func `ZIP-08: live files, files from elsewhere and files with other names are taken by what is in them`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            let before = try sandbox.state()
            try sandbox.sh(
                "mkdir $M/snapshots/one; cp $M/live/database.sqlite $M/restore/a.bak; cp $M/live/archive.zip $M/restore/b")
            try sandbox.sh(
                """
                cp $M/snapshots/one/archive.zip $M/restore/photo.jpg
                cp $M/snapshots/one/export.json "$M/restore/ü 1 (2).txt"
                """
            )
            try sandbox.sh("cp $M/live/export.json \"$M/restore/-rf\"")
            #expect(try sandbox.state() == before)
            try sandbox.sh(
                """
                cp $S/app/database.sqlite $R/wal.sqlite; sqlite3 $R/wal.sqlite 'pragma wal_checkpoint(truncate)'
                cp $R/wal.sqlite $M/restore/
                """
            )
            #expect(try sandbox.state() == before)
        }
    }

    @Test func `FEV-09, FEV-10: a byte order mark, zones, fractions and other order of keys are fine`() throws {
        try Sandbox.withMount("", Sandbox.fixedClock) { sandbox in
            let odd = SampleDocument.replacing("2026-01-10T18:30:00Z", "2026-01-10T21:30:00.250+03:00")
            try sandbox.write([0xEF, 0xBB, 0xBF] + Array(odd.utf8), to: "odd.json")
            try sandbox.sh("cp $R/odd.json $M/restore/")
            #expect(
                try sandbox.sh("jq -r '.expenses[0].date' $M/live/export.json | xargs -I{} date -d {} +%s.%3N")
                    == "1768069800.250")
            try sandbox.sh(
                """
                sed $'1s/^\\xef\\xbb\\xbf//' $R/odd.json |
                jq -c '{userSettings, delayedNotifications, plannedMaintenance, expenses, cars, metadata}' > $R/turned.json
                """)
            let before = try sandbox.state()
            try sandbox.sh("cp $R/turned.json $M/restore/")
            #expect(try sandbox.state() == before)
        }
    }

    @Test func `TST-04: an empty app is backed up and restored`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.sh("mkdir $M/snapshots/empty; cp $M/snapshots/empty/export.json $R/empty.json")
            let before = try sandbox.liveExport()
            try sandbox.write(SampleDocument.text, to: "old.json")
            try sandbox.sh("cp $R/old.json $M/restore/")
            #expect(try sandbox.liveExport() != before)
            try sandbox.sh("cp $R/empty.json $M/restore/")
            #expect(try sandbox.liveExport() == before)
            #expect(try sandbox.report(".dateRange") == "null")
        }
    }

    @Test func `VAL-14, VAL-15: a preview tells everything and changes nothing`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.write(SampleDocument.text, to: "old.json")
            let before = try sandbox.state()
            try sandbox.sh("cp $R/old.json $M/restore/preview/")
            #expect(try sandbox.names("restore/preview") == ["old.json", "old.json.preview.json", "old.json.preview.txt"])
            let text = try sandbox.sh("cat $M/restore/preview/old.json.preview.txt")
            for line in [
                "Source device: iPhone 15 Pro", "Export date: 2026-01-11 14:30:00", "App version: 2026.1.1", "Schema version: 1",
                "Cars: 1", "Expenses: 1", "Maintenance records: 1", "Notifications: 1",
                "Expenses from 2026-01-10 18:30:00 to 2026-01-10 18:30:00",
            ] { #expect(text.contains(line), "\(line) in \(text)") }
            #expect(text.hasSuffix("Importing will DELETE ALL existing data. This cannot be undone."))
            #expect(
                try sandbox.sh(
                    "jq -c '[.result, .counts.expenses, .dateRange[0] <= .dateRange[1]]' $M/restore/preview/old.json.preview.json"
                )
                    == #"["preview",1,true]"#)
            #expect(try sandbox.state() == before)
            #expect(try sandbox.names("safety") == [])
            #expect(try sandbox.names("restore") == ["README.txt", "merge", "preview", "replace", "skip"])
            // For a bad one the copy fails with the reason.
            try sandbox.write(SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 99\n"), to: "bad.json")
            try sandbox.fails("cp $R/bad.json $M/restore/preview/", saying: "Invalid argument")
            #expect(try sandbox.sh("cat $M/restore/preview/bad.json.preview.txt").contains("expense 1 refers to unknown car 99"))
            // Moved from there into restore/, it is restored.
            try sandbox.sh("mv $M/restore/preview/old.json $M/restore/")
            #expect(try sandbox.sh("jq -r '.cars[0].name' $M/live/export.json") == "Tesla Model 3")
        }
    }

    @Test func `VAL-12: unknown fields are ignored and reported`() throws {
        try Sandbox.withMount { sandbox in
            try sandbox.write(
                SampleDocument.replacing("\"carId\": 1\n", "\"carId\": 1,\n      \"mood\": {\"a\": [1, null]}\n"),
                to: "extra.json")
            try sandbox.sh("cp $R/extra.json $M/restore/")
            #expect(try sandbox.report(".unknownFields | @json") == #"{"expenses.mood":1}"#)
            #expect(try sandbox.report(".warnings[0]").contains("expenses.mood (1)"))
            #expect(try sandbox.sh("grep -c mood $M/live/export.json || true") == "0")
        }
    }
}
