import TestSupport
import Testing

/// `history/`, and restoring single records, as promised in `Docs/reference/semantics.md`.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct HistorySemanticsTests {
    private static func change(_ sql: String) -> String { "sqlite3 $S/app/database.sqlite \"\(sql)\"" }

    @Test func `S95: each state that a record had in a backup is there`() throws {
        try Sandbox.withMount("--sample", Sandbox.fixedClock) { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/b1; \(Self.change("update expenses set notes = 'one' where id in (7, 8)")); mkdir $M/snapshots/b2
                \(Self.change("update cars set name = 'Car' where id = 1")); mkdir $M/snapshots/b3
                \(Self.change("update expenses set notes = 'two' where id = 7")); mkdir $M/snapshots/b4
                \(Self.change("update expenses set notes = 'one' where id = 7; delete from expenses where id = 8"))
                mkdir $M/snapshots/b5
                """)
            #expect(
                try sandbox.names("history")
                    == ["cars", "delayedNotifications", "expenses", "plannedMaintenance"])
            #expect(try sandbox.sh("ls $M/history/expenses | wc -l") == "1200")
            let stamp = "2026-01-11_14-30-00"
            #expect(
                try sandbox.names("history/expenses/7")
                    == ["\(stamp).json", "\(stamp)_2.json", "\(stamp)_4.json", "\(stamp)_5.json", "changes.txt"])
            #expect(
                try sandbox.sh(
                    "cd $M/history/expenses/7; for f in *.json; do jq -r '.records[0].notes' $f; done | tail -n 3")
                    == "one\ntwo\none")
            #expect(
                try sandbox.sh("getfattr --only-values -n user.backupfs.backup $M/history/expenses/7/*_4.json") == "b4")
            #expect(
                try sandbox.sh("cd $M/history/expenses/7; sha256sum *_2.json | cut -c-64")
                    == sandbox.sh("getfattr --only-values -n user.checksum.sha256 $M/history/expenses/7/*_2.json"))
            let text = try sandbox.sh("cat $M/history/expenses/8/changes.txt")
            #expect(text.hasPrefix("\(stamp)  in the oldest backup  (b1)\n\(stamp)_2  changed  (b2)\n    notes: "), "\(text)")
            #expect(text.hasSuffix(" → \"one\"\n\(stamp)_5  removed  (b5)"), "\(text)")
            // The record is as it stands in the backup's own file.
            try sandbox.sh(
                """
                cd $M; for b in b1 b3 b5; do jq -cS '.[] | select(.id == 1)' snapshots/$b/data/cars.json; done | uniq > $R/cars
                cat history/cars/1/*.json | jq -cS '.records[0]' | cmp - $R/cars
                ls -lR history/cars > $R/list; cp -r history/cars $R/copy; diff -r history/cars $R/copy; find history/plannedMaintenance -size 0 -type f | cmp - /dev/null
                """)
            try sandbox.fails("ls $M/history/expenses/99999", saying: "No such file or directory")
            try sandbox.fails("ls $M/history/none", saying: "No such file or directory")
            try sandbox.fails("echo x > $M/history/expenses/7/x", saying: "Read-only file system")
            try sandbox.fails("rm -r $M/history/expenses/7", saying: "Read-only file system")
            // What is gone with its backup is gone, and what stays has its name.
            try sandbox.sh("cat $M/history/expenses/7/* >/dev/null; rmdir $M/snapshots/b4")
            #expect(
                try sandbox.sh("cd $M/history/expenses/7; for f in *.json; do jq -r '.records[0].notes' $f; done | tail -n +2")
                    == "one")
        }
    }

    @Test func `S96: a record that is copied into restore changes that record alone`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh(
                """
                mkdir $M/snapshots/old; \(Self.change("update expenses set notes = 'new', odometer = odometer + 1 where id in (7, 9)"))
                \(Self.change("delete from expenses where id = 8"))
                """)
            let old = try sandbox.sh("jq -c '.[] | select(.id == 7 or .id == 8)' $M/snapshots/old/data/expenses.json")
            let others = "jq -c '.[] | select(.id != 7 and .id != 8)' $M/live/data/expenses.json"
            let before = try sandbox.sh(others)
            // A preview, then the restore; with cp, with mv from another folder, and by a file manager's temporary name.
            try sandbox.sh(
                """
                cp $M/history/expenses/7/*.json $M/restore/preview/old.json; grep -q 'Expenses: 0 added, 1 updated' $M/restore/preview/old.json.preview.txt
                cp $M/history/expenses/7/*.json $M/restore/
                cp $M/history/expenses/8/*.json $R/eight.json; cp $R/eight.json $M/restore/eight.json.part; mv $M/restore/eight.json.part $M/restore/eight.json
                """)
            #expect(try sandbox.sh("jq -c '.[] | select(.id == 7 or .id == 8)' $M/live/data/expenses.json") == old)
            #expect(try sandbox.sh(others) == before)
            #expect(try sandbox.report("[.strategy, .result] | @json") == #"["merge","success"]"#)
            // Undone by the safety backup, as any other restore.
            try sandbox.sh("backupfs undo --yes --store $S >/dev/null")
            #expect(try sandbox.sh("jq -c '[.[] | select(.id == 8)] | length' $M/live/data/expenses.json") == "0")
            // A whole collection.
            try sandbox.sh("cp $M/snapshots/old/data/expenses.json $M/restore/")
            #expect(
                try sandbox.sh("jq -c . $M/live/data/expenses.json")
                    == sandbox.sh("jq -c . $M/snapshots/old/data/expenses.json"))
            // A merge needs no confirmation, and what is refused changes nothing.
            try sandbox.sh("backupfs config set confirm-restores yes --store $S; cp $M/history/expenses/9/*.json $R/nine.json")
            try sandbox.sh("cp $R/nine.json $M/restore/")
            let state = try sandbox.databaseDump()
            try sandbox.sh(
                "sed 's/\"id\": 9,/\"id\": 9, \"carId\": 77,/; s/\"carId\": [0-9]*$/\"carId\": 77/' $R/nine.json > $R/bad.json")
            try sandbox.fails("cp $R/bad.json $M/restore/", saying: "Invalid argument")
            try sandbox.fails("cp $R/nine.json $M/restore/replace/", saying: "")
            #expect(try sandbox.databaseDump() == state)
        }
    }
}
