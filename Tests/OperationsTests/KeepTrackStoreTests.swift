import Foundation
import SystemIO
import TestSupport
import Testing

/// KeepTrack in a store: additions by UUID, the files of its first version, and statistics of its records.
@Suite struct KeepTrackStoreTests {
    private static func entry(_ number: Int, _ amount: String, day: Int = 11) -> String {
        """
        {"id":"00000000-0000-4000-8000-0000000000\(number)","date":"2026-01-\(day)T08:00:00Z","name":"Water","amount":\(amount),"units":"cups","goalMet":\(number % 2 == 0)}
        """
    }

    private static func export(_ entries: [String]) -> String {
        """
        {"version":1,"exportDate":"2026-01-12T08:00:00Z","entries":[\(entries.joined(separator: ","))],"intakeTypes":[],"goals":[],
         "settings":{"cloudSyncEnabled":true,"autoBackupEnabled":true}}
        """
    }

    private static func sandbox(_ entries: [String]) throws -> Sandbox {
        let sandbox = try Sandbox()
        try export(entries).write(toFile: sandbox("first.json"), atomically: true, encoding: .utf8)
        try sandbox.sh(
            "backupfs init --store $S --app keeptrack >/dev/null; backupfs restore $R/first.json --store $S --yes >/dev/null")
        return sandbox
    }

    @Test func `RST-13, RST-14: a restore adds by UUID unless its strategy is replace`() throws {
        let sandbox = try Self.sandbox((10..<20).map { Self.entry($0, "1") })
        let text = Self.export((15..<25).map { Self.entry($0, "2") })
        try text.write(toFile: sandbox("second.json"), atomically: true, encoding: .utf8)
        #expect(
            try sandbox.sh(
                "backupfs restore $R/second.json --store $S --yes --json | jq -c 'select(.result) | .strategy, .outcome.entries'")
                    == """
                    "merge"
                    {"added":5,"updated":5,"skipped":0,"kept":0,"removed":0}
                    """)
        let count = "sqlite3 $S/app/database.sqlite 'SELECT count(*), sum(amount) FROM entries; SELECT * FROM app_settings'"
        // The switches of this device stay, unless those of the file are requested.
        #expect(try sandbox.sh(count) == "15|25.0")
        try sandbox.sh("backupfs restore $R/second.json --store $S --strategy replace --yes >/dev/null")
        #expect(try sandbox.sh(count) == "10|20.0")
        try sandbox.sh("backupfs restore $R/second.json --store $S --strategy replace --settings --yes >/dev/null")
        // A setting with its default value needs no row.
        #expect(try sandbox.sh(count) == "10|20.0\ncloud_sync_enabled|true")
    }

    /// The app's own strategy, merge, would keep what the restore has added.
    @Test func `a restore of a safety backup by name undoes the restore, settings too`() throws {
        let sandbox = try Self.sandbox([Self.entry(10, "1")])
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"INSERT INTO app_settings VALUES ('auto_backup_enabled', 'false')\"")
        try Self.export([Self.entry(10, "2"), Self.entry(11, "2")]).write(
            toFile: sandbox("second.json"), atomically: true, encoding: .utf8)
        let state = "sqlite3 $S/app/database.sqlite 'SELECT substr(id, -2), amount FROM entries; SELECT * FROM app_settings'"
        for restore in ["restore $R/second.json", "restore $R/second.json --settings"] {
            #expect(try sandbox.sh(state) == "10|1.0\nauto_backup_enabled|false")
            try sandbox.sh("backupfs \(restore) --store $S --yes")
            #expect(try sandbox.sh(state).hasPrefix("10|2.0\n11|2.0\n"))
            try sandbox.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --store $S --yes")
        }
        // A setting without a row gets its default.
        #expect(try sandbox.sh(state) == "10|1.0\nauto_backup_enabled|false\ncloud_sync_enabled|false")
        let preview = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --store $S --dry-run --json | jq -r .strategy"
        #expect(try sandbox.sh(preview) == "replace")
        #expect(try sandbox.sh(preview.replacing("--json", with: "--json --strategy merge")) == "merge")
        let folder = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --store $S --target $R/out"
        #expect(try sandbox.sh("\(folder) >/dev/null; jq '.entries | length' $R/out/export.json") == "2")
    }

    @Test func `MIG-01, MIG-02: the old files are migrated once, whole or not at all`() throws {
        let sandbox = try Self.sandbox([Self.entry(10, "1")])
        try sandbox.sh("mkdir $R/old")
        let none = try sandbox.run("backupfs app migrate $R/old --store $S")
        #expect(none.exitCode == 1 && none.errors.contains("none of the app's old files is here"), "\(none.errors)")
        try "[\(Self.entry(10, "9")),\(Self.entry(11, "3"))]".write(
            toFile: sandbox("old/entries.json"), atomically: true, encoding: .utf8)
        try #"[{"id":"00000000-0000-4000-8000-000000000099","name":"Tea","unit":"cup","amount":1,"frequency":"daily"},]"#
            .write(toFile: sandbox("old/intaketypes.json"), atomically: true, encoding: .utf8)
        let broken = try sandbox.run("backupfs app migrate $R/old --store $S")
        #expect(broken.exitCode == 1 && broken.errors.contains("intaketypes.json: Invalid file format."), "\(broken.errors)")
        #expect(
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM entries'; ls $S | grep -c migrated || true")
                == "1\n0")

        try sandbox.sh(
            "sed -i 's/},]/}]/' $R/old/intaketypes.json; echo '{\"cloudSyncEnabled\":true,\"lastBackupDate\":5}' > $R/old/settings.json"
        )
        #expect(
            try sandbox.sh("backupfs app migrate $R/old --store $S --dry-run --json | jq -c .outcome")
                == #"{"entries":{"added":1,"updated":0,"skipped":1,"kept":0,"removed":0},"goals":{"added":0,"updated":0,"skipped":0,"kept":0,"removed":0},"intakeTypes":{"added":1,"updated":0,"skipped":0,"kept":0,"removed":0}}"#
        )
        try sandbox.sh("backupfs app migrate $R/old --store $S >/dev/null")
        #expect(
            try sandbox.sh(
                "sqlite3 $S/app/database.sqlite 'SELECT substr(id, -2), amount FROM entries; SELECT name FROM intake_types; SELECT * FROM app_settings'"
            )
                == "10|1.0\n11|3.0\nTea\ncloud_sync_enabled|true")
        try sandbox.sh("sed -i 's/\"amount\":3/\"amount\":4/; s/000000000011/000000000012/' $R/old/entries.json")
        let again = try sandbox.run("backupfs app migrate $R/old --store $S")
        #expect(again.exitCode == 1 && again.errors.contains("they are migrated once"), "\(again.errors)")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'SELECT count(*) FROM entries'") == "2")
        let other = try sandbox.run("backupfs init --store $R/ev >/dev/null; backupfs app migrate $R/old --store $R/ev")
        #expect(other.exitCode == 1 && other.errors.contains("there is nothing to migrate"))
    }

    @Test func `STA-03: statistics tell what the records are like`() throws {
        let sandbox = try Self.sandbox([Self.entry(10, "1"), Self.entry(11, "2.5"), Self.entry(12, "3", day: 31)])
        let goal =
            #"INSERT INTO goals (id, name, dates, is_active) VALUES ('00000000-0000-4000-8000-000000000001','Walk','[]',1)"#
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"\(goal); UPDATE entries SET name = 'Tea' WHERE amount = 3\"")
        let expected = """
            {"count":3,"earliest":"2026-01-11T08:00:00Z","latest":"2026-01-31T08:00:00Z","months":{"2026-01":3},"true":{"goalMet":2},\
            "kinds":{"name":{"Water":2,"Tea":1},"units":{"cups":3}},"numbers":{"amount":{"minimum":1,"maximum":3,"mean":2.1666666666666665}}}
            """
        #expect(
            try sandbox.sh(
                "backupfs stats --records --store $S --json | jq -c '.collections.entries, .collections.goals.true, .collections.intakeTypes.count'"
            )
                == expected + "\n{\"isActive\":1,\"isCompleted\":0}\n0")
        try sandbox.sh("backupfs backup --store $S --label a >/dev/null; sqlite3 $S/app/database.sqlite 'DELETE FROM entries'")
        #expect(try sandbox.sh("backupfs stats --records a --store $S --json | jq -c .collections.entries") == expected)
        #expect(try sandbox.sh("backupfs stats --records --store $S | head -1") == "Entries: 0")
        #expect(try sandbox.run("backupfs stats --records a b --store $S").exitCode == 2)
    }
}
