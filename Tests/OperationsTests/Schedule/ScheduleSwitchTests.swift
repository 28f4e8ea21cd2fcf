import TestSupport
import Testing

/// KeepTrack's own setting for automatic backups, which the store's settings override.
struct ScheduleSwitchTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app keeptrack --sample --store $S >/dev/null", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(try due(sandbox, "2026-01-10T10:00:00Z") == "Not due until 2026-01-11 10:00:00.\n")
        return sandbox
    }

    private func due(_ sandbox: Sandbox, _ now: String, _ environment: [String: String] = [:]) throws -> String {
        try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now].merging(environment) { $1 }).output
    }

    private func set(_ sandbox: Sandbox, _ value: String) throws {
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"INSERT OR REPLACE INTO app_settings VALUES ('auto_backup_enabled', '\(value)')\"")
    }

    @Test func `SCH-02: autoBackupEnabled = false stops the schedule, true starts it again`() throws {
        let sandbox = try sandbox()
        try set(sandbox, "false")
        let off =
            "The schedule is off, since autoBackupEnabled is off in KeepTrack. Back up all the same with: backupfs backup\n"
        #expect(try due(sandbox, "2026-01-11T11:00:00Z") == off)
        #expect(try due(sandbox, "2026-02-11T11:00:00Z") == off)
        try set(sandbox, "true")
        #expect(try due(sandbox, "2026-02-11T12:00:00Z") == "2026-02-11_12-00-00\n")
        // The next one is 24 hours after the last.
        #expect(try due(sandbox, "2026-02-12T11:59:59Z") == "Not due until 2026-02-12 12:00:00.\n")
        // An app that has never written the setting is backed up.
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"DELETE FROM app_settings WHERE key = 'auto_backup_enabled'; DELETE FROM goals\"")
        #expect(try due(sandbox, "2026-02-12T12:00:00Z") == "2026-02-12_12-00-00\n")
        #expect(try sandbox.sh("backupfs export --json -o - --store $S | jq .settings.autoBackupEnabled") == "true")
    }

    @Test func `SCH-02: a schedule of the store's settings or of the environment goes before the app's switch`() throws {
        let sandbox = try sandbox()
        try set(sandbox, "false")
        #expect(try due(sandbox, "2026-01-12T11:00:00Z", ["BACKUPFS_SCHEDULE": "every 24h"]) == "2026-01-12_11-00-00\n")
        try sandbox.sh("backupfs config set schedule 'every 24h' --store $S; sqlite3 $S/app/database.sqlite 'DELETE FROM goals'")
        #expect(try due(sandbox, "2026-01-13T11:00:00Z") == "2026-01-13_11-00-00\n")
        // A backup requested by the user is always made.
        try sandbox.sh("backupfs config unset schedule --store $S; backupfs backup --label mine --store $S")
    }

    @Test func `SCH-03, SCH-11: the status tells the next backup only while there will be one`() throws {
        let sandbox = try sandbox()
        let now = ["BACKUPFS_NOW": "2026-01-10T12:00:00Z"]
        let next = "backupfs status --store $S | grep -e '^Next' -e '^Make them' || true"
        #expect(try sandbox.sh(next, now) == "Next backup: 2026-01-11 10:00:00 (every 24h)")
        try set(sandbox, "false")
        #expect(
            try sandbox.sh(next, now)
                == """
                Next backup: no automatic one, since autoBackupEnabled is off in KeepTrack
                Make them all the same with: backupfs config set schedule 'every 24h'
                """)
        #expect(
            try sandbox.sh("backupfs status --json --store $S | jq -c '[.nextBackup, .scheduleSwitchedOffBy]'", now)
                == #"[null,"autoBackupEnabled"]"#)
        try sandbox.sh("backupfs config set schedule off --store $S")
        #expect(try sandbox.sh(next, now) == "")
        try sandbox.sh("backupfs config set schedule 'every 24h' --store $S")
        #expect(
            try sandbox.sh("backupfs status --json --store $S | jq -c '[.nextBackup, .scheduleSwitchedOffBy]'", now)
                == #"["2026-01-11T10:00:00Z",null]"#)
    }

    @Test func `SCH-02: while the database cannot be read, what was known counts`() throws {
        let sandbox = try sandbox()
        // No app has turned it off, and the backup itself reports the problem.
        try sandbox.sh("mv $S/app/database.sqlite $R/away")
        let lost = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-12T12:00:00Z"])
        #expect(lost.exitCode == 1 && lost.errors.contains("database.sqlite"), "\(lost)")
    }

    @Test func `a definition may name a setting that is true or false, and nothing else`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs app show keeptrack > $R/a.yaml
            sed 's/scheduleSwitch: .*/scheduleSwitch: theme/' $R/a.yaml > $R/text.yaml
            sed 's/scheduleSwitch: .*/scheduleSwitch: autoBackupEnable/' $R/a.yaml > $R/typo.yaml
            backupfs app check $R/a.yaml
            """)
        let text = try sandbox.run("backupfs app check $R/text.yaml")
        #expect(text.exitCode != 0 && "\(text)".contains("scheduleSwitch names theme"), "\(text)")
        let typo = try sandbox.run("backupfs app check $R/typo.yaml")
        #expect(typo.exitCode != 0 && "\(typo)".contains("Did you mean autoBackupEnabled?"), "\(typo)")
    }
}
