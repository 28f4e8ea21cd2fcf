import Foundation
import TestSupport
import Testing

@testable import Operations

/// `backupfs status` for users, for following it, and for monitors.
struct StatusCommandTests {
    private static let clock = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z", "TZ": "UTC"]

    @Test func `STA-07, STA-08: the charging tracker's state has the section of its screen`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        let before = try sandbox.sh("backupfs status --store $S", Self.clock)
        #expect(!before.contains("Last backup:"))
        #expect(before.contains("\nNo backups yet. Make one with: backupfs backup\n"))
        try sandbox.sh("backupfs backup --store $S >/dev/null", Self.clock)
        let lines = try sandbox.sh("backupfs status --store $S", Self.clock).split(separator: "\n").map(String.init)
        #expect(lines[0] == "EV Charging Tracker (ev-charging-tracker)")
        #expect(lines[1] == "Store: \(sandbox.storePath)")
        #expect(
            Array(lines[2...8]) == [
                "Last backup: 2026-01-11 14:30:00", "Nothing is running.", "Backup & Restore",
                "Next backup: 2026-01-12 00:00:00 (daily)", "Backups: 1", "Safety backups: 0", "Cars: 3",
            ])
        #expect(lines.contains("Expenses: 1200, from 2024-01-12 to 2026-01-10"))
        #expect(!lines.contains { $0.contains("expenseType") } && lines.count < 20)
        #expect(
            try sandbox.sh("backupfs status --records --store $S", Self.clock).contains(
                "\n  expenseType: charging 1115, maintenance 24, carwash 22, other 21, repair 18\n"))
        #expect(
            Array(lines.suffix(6)) == [
                "Backup Now: backupfs backup", "View Backup History: backupfs snapshots",
                "Delete All Backups: backupfs delete --all", "Daily Automatic Backup: backupfs config set schedule daily",
                "Export Data...: backupfs export --json", "Import Data...: backupfs restore FILE",
            ])
    }

    @Test func `STA-01, STA-02, STA-03: KeepTrack's state has its four blocks, and counts what its documents count`() throws {
        let sandbox = try Sandbox()
        func entry(_ number: Int, _ name: String, _ day: String, _ isMet: Bool) -> String {
            """
            {"id":"00000000-0000-4000-8000-00000000000\(number)","date":"\(day)T08:00:00Z","name":"\(name)","amount":1,"units":"cups","goalMet":\(isMet)}
            """
        }
        let entries = [
            entry(1, "Water", "2025-11-30", true), entry(2, "Water", "2025-12-01", true), entry(3, "Water", "2026-01-02", true),
            entry(4, "Tea", "2026-01-03", false),
        ]
        try sandbox.write(
            """
            {"version":1,"exportDate":"2026-01-12T08:00:00Z","entries":[\(entries.joined(separator: ","))],"intakeTypes":[],"goals":[
             {"id":"00000000-0000-4000-8000-000000000011","name":"More water","dates":[],"isActive":true},
             {"id":"00000000-0000-4000-8000-000000000012","name":"Less tea","dates":[],"isActive":false}]}
            """, to: "x.json")
        try sandbox.sh(
            """
            backupfs init --app keeptrack --store $S >/dev/null; backupfs restore $R/x.json --yes --store $S >/dev/null
            backupfs backup --store $S >/dev/null; backupfs backup --label named --store $S >/dev/null
            """, Self.clock)
        let text = try sandbox.sh("backupfs status --records --store $S", Self.clock)
        let headings = ["Cloud Sync Status", "Data Statistics", "Export/Import Actions", "Backup History"]
        #expect(text.split(separator: "\n").filter { headings.contains(String($0)) }.map(String.init) == headings)
        #expect(
            text.contains(
                """

                Data Statistics
                Entries: 4, from 2025-11-30 to 2026-01-03
                  name: Water 3, Tea 1
                  goalMet: 3 (75 %)
                  2025-11 1, 2025-12 1, 2026-01 2
                Goals: 2
                  isActive: 1 (50 %)
                  isCompleted: 0 (0 %)
                Intake types: 0

                """.replacing("Intake types: 0\n", with: "Intake types: 0\nDatabase: ")), "\(text)")
        #expect(text.contains("\nBackup History\n2026-01-11 14:30:00  named  "))
        #expect(text.contains("\n2026-01-11 14:30:00  2026-01-11_14-30-00  "))
        let statistics = try sandbox.sh(
            "backupfs status --json --store $S | jq -c '.statistics.collections | .entries, .goals.true'")
        #expect(
            statistics == """
                {"count":4,"earliest":"2025-11-30T08:00:00Z","latest":"2026-01-03T08:00:00Z","months":{"2025-11":1,"2025-12":1,"2026-01":2},"kinds":{"name":{"Water":3,"Tea":1}},"true":{"goalMet":3}}
                {"isActive":1,"isCompleted":0}
                """)
    }

    @Test func `STA-06: the list of backups has the columns of its screen`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --sample --store $S >/dev/null; backupfs backup --store $S >/dev/null; backupfs export latest -o $R/x.json --store $S",
            Self.clock)
        let size = try sandbox.sh("stat -c %s $R/x.json")
        let device = try sandbox.sh("jq -r .metadata.deviceName $R/x.json")
        let version = try sandbox.sh("jq -r .metadata.appVersion $R/x.json")
        #expect(
            try sandbox.sh(
                "backupfs snapshots --json --store $S | jq -c '.[0] | [.file_name, .created_at, .device_name, .app_version, .file_size]'"
            )
                == #"["ev_charging_tracker_backup_2026-01-11_14-30-00.json","2026-01-11T14:30:00Z","\#(device)","\#(version)",\#(size)]"#
        )
        #expect(device.count > 2 && version.contains("."))
        let rows = try sandbox.sh("backupfs snapshots --store $S").split(separator: "\n")
        #expect(rows.count == 2 && rows[0].contains("Device") && rows[1].contains(device) && rows[1].contains(version))
    }

    @Test func `of many months the last two years are shown, and of a large database no statistics`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app keeptrack --store $S >/dev/null")
        let insert = """
            with recursive n(i) as (select 0 union all select i + 1 from n where i < 39)
            insert into entries select printf('%08x-0000-4000-8000-000000000000', i), strftime('%Y-%m-%dT00:00:00Z', '2022-01-15', '+' || i || ' months'),
            'Water', 1, 'cups', 1 from n
            """
        try sandbox.write(insert + ";", to: "fill.sql")
        try sandbox.sh("sqlite3 $S/app/database.sqlite < $R/fill.sql")
        #expect(
            try sandbox.sh(
                "backupfs status --json --store $S | jq -c '.statistics.collections.entries.months | length, keys[0], keys[-1]'")
                == "24\n\"2023-05\"\n\"2025-04\"")
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"create table filler (x); insert into filler values (zeroblob(5000000))\"")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq -c '.statistics, .records.entries'") == "null\n40")
        #expect(try sandbox.sh("backupfs status --store $S").contains("\nEntries: 40\n"))
    }

    @Test func `it is followed off a terminal, a line for each change, until a signal ends it`() throws {
        let sandbox = try Sandbox()
        let script = """
            backupfs init --sample --store $S >/dev/null
            backupfs status --watch 0.1 --store $S > $R/seen & watch=$!
            # Each look at the store lets go of the processor.
            looks() { awk '/^voluntary/ { print $2 }' /proc/$watch/status; }
            look_again() { local before=$(looks); wait_until "[ \\$(looks) -ge $((before + 10)) ]"; }
            wait_until grep -q 'No backups' $R/seen; look_again
            touch $R/pause; BACKUPFS_FAULT=backup.begun=pause:$R/pause backupfs backup --label one --store $S > /dev/null & backup=$!
            wait_until grep -q Running $R/seen; look_again; rm $R/pause; wait $backup
            wait_until grep -q 'Last backup' $R/seen
            kill -TERM $watch; wait $watch; echo $?; grep -v 'Creating backup..., [1-9]' $R/seen
            """
        let lines = try sandbox.sh(script, Self.clock).split(separator: "\n").map(String.init)
        #expect(
            // An operation's activity is removed a moment before its lock is released.
            lines.filter { !$0.contains("Backup complete") && $0 != "An operation is running." } == [
                "0", "Nothing is running. No backups yet.", "Running: backup, Creating backup..., 0 %",
                "Nothing is running. Last backup: 2026-01-11 14:30:00",
            ])
    }

    @Test func `a monitor gets one line and an exit code`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --sample --store $S >/dev/null")
        func check(_ age: String, at now: String, _ more: String = "") throws -> String {
            let result = try sandbox.run("backupfs status --check \(age) --store $S \(more)", ["BACKUPFS_NOW": now])
            return "\(result.exitCode) \(result.output)\(result.errors)"
        }
        #expect(try check("26h", at: "2026-01-11T14:30:00Z") == "1 No backup has been made yet.\n")
        try sandbox.sh("backupfs backup --store $S >/dev/null", Self.clock)
        #expect(try check("26h", at: "2026-01-12T16:29:59Z") == "0 OK. Last backup: 2026-01-11 14:30:00\n")
        #expect(
            try check("26h", at: "2026-01-12T16:30:01Z")
                == "1 The last backup is older than 26h. Last backup: 2026-01-11 14:30:00\n")
        #expect(try check("7d", at: "2026-01-18T14:30:00Z").hasPrefix("0 "))
        #expect(
            try check("7d", at: "2026-01-18T14:30:01Z", "--json")
                == #"1 {"message_type":"check","healthy":false,"finding":"too_old","last_backup":"2026-01-11T14:30:00Z","maximum_age":"7d","message":null,"warnings":[],"version":1}"#
                + "\n")
        // The schedule's next one fails: there is a recent backup, but there will be no others.
        _ = try sandbox.run(
            "mv $S/app/database.sqlite $R/away; backupfs backup --if-due --store $S; mv $R/away $S/app/database.sqlite",
            ["BACKUPFS_NOW": "2026-01-12T00:00:01Z"])
        let failed = try check("26h", at: "2026-01-12T00:00:02Z")
        #expect(failed.hasPrefix("1 The last automatic backup failed: "), "\(failed)")
        try sandbox.sh("backupfs backup --if-due --store $S >/dev/null", ["BACKUPFS_NOW": "2026-01-12T06:00:00Z"])
        #expect(try check("26h", at: "2026-01-12T06:00:01Z").hasPrefix("0 "))
        #expect(try check("soon", at: "2026-01-12T06:00:01Z").hasPrefix("2 "))
        #expect(try sandbox.run("backupfs status --check 1d --store $R/none").exitCode == 10)
    }

    @Test func `a monitor learns of a backup of unknown age`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --sample --store $S >/dev/null; backupfs backup --store $S", ["BACKUPFS_NOW": "2031-01-01T00:00:00Z"])
        func check(at now: String, _ more: String = "") throws -> String {
            let result = try sandbox.run("backupfs status --check 26h --store $S \(more)", ["BACKUPFS_NOW": now])
            return "\(result.exitCode) \(result.output)\(result.errors)"
        }
        let ahead = "The last backup is more than a day ahead of the clock, so its age is not known. Make one by the right clock."
        #expect(try check(at: "2026-01-01T00:00:00Z") == "1 \(ahead) Last backup: 2031-01-01 00:00:00\n")
        #expect(
            try check(at: "2030-12-30T23:59:59Z", "--json")
                == #"1 {"message_type":"check","healthy":false,"finding":"clock","last_backup":"2031-01-01T00:00:00Z","maximum_age":"26h","message":null,"warnings":[],"version":1}"#
                + "\n")
        // The clocks of two machines may differ by a day.
        #expect(try check(at: "2030-12-31T00:00:00Z").hasPrefix("0 OK."))
        // A backup by the right clock ends the finding.
        try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-01T00:00:00Z"])
        #expect(try check(at: "2026-01-01T01:00:00Z").hasPrefix("0 OK."))
    }

    @Test(arguments: ["--watch --prometheus", "--check 1d --watch", "--prometheus --json", "5", "--watch never", "--watch 0"])
    func `what does not go together is refused`(options: String) throws {
        #expect(try Sandbox().run("backupfs status --store $S \(options)").exitCode == 2)
    }

    @Test func `a store that has adopted backups and waits is not healthy`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            for name in a b; do sqlite3 $R/$name.db 'create table t(x)'; done
            backupfs init --store $S --database $R/a.db --repository $R/nas; backupfs backup --store $S
            source=$(backupfs snapshots --json --store $S | jq -r '.[0].source')
            backupfs init --store $R/other --database $R/b.db --repository $R/nas --adopt $source
            """)
        let check = try sandbox.run("backupfs status --check 1d --store $R/other")
        #expect(
            check.exitCode == 1 && check.output.hasPrefix("The store has adopted these backups and makes none itself yet."),
            "\(check)")
        #expect(try sandbox.run("backupfs status --check 1d --json --store $R/other | jq -r .finding").output == "waiting\n")
        try sandbox.sh("backupfs backup --store $R/other")
        #expect(try sandbox.run("backupfs status --check 1d --store $R/other").exitCode == 0)
    }
}
