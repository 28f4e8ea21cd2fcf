import TestSupport
import Testing

/// Key-value tables with more columns than a restore writes: it changes values, not rows.
@Suite struct SettingsRowTests {
    private static func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null
            sqlite3 $S/app/database.sqlite "
              ALTER TABLE user_settings ADD COLUMN updated_at TEXT; ALTER TABLE app_metadata ADD COLUMN note;
              INSERT OR REPLACE INTO user_settings VALUES ('preferred_currency','EUR','2025-01-01'),('preferred_language','de','2025-01-02'),('other','o','2025-01-03');
              INSERT OR REPLACE INTO app_metadata VALUES ('app_version','1.0','a'),('device_name','phone',7);
              UPDATE app_metadata SET note = 's' WHERE key = 'schema_version'"
            """)
        return sandbox
    }

    private static let rows =
        "sqlite3 $S/app/database.sqlite 'SELECT * FROM user_settings ORDER BY key; SELECT * FROM app_metadata ORDER BY key'"

    /// A table whose keys are not unique by their bytes: rows with another spelling are other rows, and an export has one value
    /// per key.
    @Test func `rows of another spelling stay, and keys with two values refuse a restore`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --sample >/dev/null
            sqlite3 $S/app/database.sqlite "
              DROP TABLE user_settings; CREATE TABLE user_settings(profile TEXT, key TEXT COLLATE NOCASE, value, PRIMARY KEY(profile, key));
              INSERT INTO user_settings VALUES ('home','Preferred_Currency','EUR'),('home','preferred_language','de'),('work','preferred_language','de')"
            """)
        let rows = "sqlite3 $S/app/database.sqlite 'SELECT * FROM user_settings ORDER BY 1, 2 COLLATE BINARY'"
        let before = try sandbox.sh(rows)
        try sandbox.sh("backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh(rows).contains("home|Preferred_Currency|EUR\n"))
        #expect(try sandbox.sh(rows).contains("\(before.split(separator: "\n").dropFirst().joined(separator: "\n"))"))
        try sandbox.sh("sqlite3 $S/app/database.sqlite \"UPDATE user_settings SET value = 'fr' WHERE profile = 'work'\"")
        let differing = try sandbox.sh(rows)
        let backup = try sandbox.run("backupfs backup --label B --store $S")
        #expect(backup.exitCode == 0 && backup.errors.contains("user_settings.preferred_language"), "\(backup)")
        #expect(try sandbox.run("backupfs verify B --store $S").output.contains("user_settings.preferred_language"))
        let refused = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("user_settings.preferred_language"), "\(refused)")
        #expect(try sandbox.sh(rows) == differing)
    }

    @Test func `further columns are as they were after a restore and its undo`() throws {
        let sandbox = try Self.sandbox()
        let before = try sandbox.sh(Self.rows)
        #expect(
            before == """
                other|o|2025-01-03
                preferred_currency|EUR|2025-01-01
                preferred_language|de|2025-01-02
                app_version|1.0|a
                device_name|phone|7
                schema_version|1|s
                """)
        try sandbox.sh("backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.rows) == before)
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE user_settings SET value = 'USD', updated_at = '2026-06-06' WHERE key = 'preferred_currency'"
            backupfs restore A --yes --store $S >/dev/null
            """)
        // The value is the backup's, and columns that no export has are unchanged.
        #expect(try sandbox.sh(Self.rows) == before.replacing("EUR|2025-01-01", with: "EUR|2026-06-06"))
        try sandbox.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.rows) == before.replacing("EUR|2025-01-01", with: "USD|2026-06-06"))
    }

    /// Loans; `days` has a default and `theme` has none.
    private static func loans(_ columns: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            format: "1"
            name: loans
            title: Loans
            schemaVersion: "1"
            minimumSchemaVersion: "1"
            fileNames: {export: "l_{stamp}.json", backup: "l_backup_{stamp}.json", safety: "l_safety_{stamp}.json"}
            retention: {safetyKeepLast: "9"}
            envelope: [about, notes, settings]
            metadata:
              name: about
              table: about
              fields:
                - {name: createdAt, source: creationTime, type: date}
                - {name: version, source: schemaVersion, key: version, type: integer}
            settings:
              name: settings
              table: setting
              required: false
              fields:
                - {name: theme, key: theme, type: text, required: false}
                - {name: days, key: days, type: integer, required: false, default: "14"}
                - {name: zoom, key: zoom, type: double, required: false}
                - {name: isBold, key: bold, type: boolean, required: false}
            collections:
              - name: notes
                table: notes
                key: id
                singular: note
                plural: notes
                fields:
                  - {name: id, column: id, type: integer}

            """, to: "loans.yaml")
        try sandbox.sh(
            """
            sqlite3 $R/a.db "CREATE TABLE about (key TEXT PRIMARY KEY NOT NULL, value); CREATE TABLE notes (id INTEGER PRIMARY KEY);
              INSERT INTO about VALUES ('version', 1); CREATE TABLE setting (key TEXT PRIMARY KEY, \(columns))"
            backupfs init --store $S --app $R/loans.yaml --database $R/a.db >/dev/null; backupfs backup --label A --store $S >/dev/null
            """)
        return sandbox
    }

    private static let setting = "sqlite3 $R/a.db 'SELECT * FROM setting ORDER BY key'"
    private static let undo = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S >/dev/null"

    /// Restores a backup with other settings, which creates rows, and undoes it.
    private static func addAndUndo(_ sandbox: Sandbox) throws -> (restored: String, undone: String) {
        try sandbox.sh(
            """
            backupfs export A --json -o $R/a.json --store $S; jq '.settings.theme = "dark" | .settings.days = 3' $R/a.json >$R/b.json
            backupfs restore $R/b.json --yes --store $S >/dev/null
            """)
        let restored = try sandbox.sh(setting)
        try sandbox.sh(undo)
        return (restored, try sandbox.sh(setting))
    }

    @Test func `rows that a restore has made go again with its undo, whatever their columns' defaults are`() throws {
        let sandbox = try Self.loans(
            "value, updated_at INTEGER NOT NULL DEFAULT 0, who TEXT DEFAULT \\\"me\\\", at TEXT DEFAULT 7")
        let (restored, undone) = try Self.addAndUndo(sandbox)
        #expect(restored == "days|3|0|me|7\ntheme|dark|0|me|7")
        // The export of A has the default of `days`.
        #expect(undone == "days|14|0|me|7")
        // The same applies to a setting that the app has created since.
        try sandbox.sh(
            "sqlite3 $R/a.db \"INSERT INTO setting (key, value) VALUES ('theme', 'light')\"; backupfs restore A --yes --store $S >/dev/null"
        )
        #expect(try sandbox.sh(Self.setting) == "days|14|0|me|7")
    }

    @Test func `a row that holds more stays, and is read as if it were not there`() throws {
        let sandbox = try Self.loans("value, at INTEGER DEFAULT (1 + abs(random() % 2))")
        try sandbox.sh(
            "sqlite3 $R/a.db \"INSERT INTO setting VALUES ('theme', 'light', 5), ('days', 3, 6)\"; backupfs restore A --yes --store $S >/dev/null"
        )
        #expect(try sandbox.sh(Self.setting) == "days|14|6\ntheme||5")
        #expect(try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json") == "")
        try sandbox.sh("backupfs export --json -o $R/now.json --store $S; backupfs export A --json -o $R/a.json --store $S")
        #expect(try sandbox.sh("cd $R; diff <(jq 'del(.about)' now.json) <(jq 'del(.about)' a.json)") == "")
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh(Self.setting) == "days|3|6\ntheme|light|5")
    }

    @Test func `a value that may not be null stays where its row holds more, and the report says so`() throws {
        let sandbox = try Self.loans("value NOT NULL, at INTEGER")
        try sandbox.sh(
            "sqlite3 $R/a.db \"INSERT INTO setting VALUES ('theme', 'light', 5), ('days', 3, 6)\"; backupfs restore A --yes --store $S >/dev/null"
        )
        #expect(try sandbox.sh(Self.setting) == "days|14|6\ntheme|light|5")
        #expect(
            try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json")
                == "the file has no value for theme, and the value that is there stays: its row in the table setting also holds at"
        )
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh(Self.setting) == "days|3|6\ntheme|light|5")
    }

    @Test func `numbers stay numbers where the column has no type`() throws {
        let sandbox = try Self.loans("value")
        let types =
            "sqlite3 $R/a.db \"SELECT key, value, typeof(value) FROM setting UNION ALL SELECT *, typeof(value) FROM about ORDER BY key\""
        let change =
            "UPDATE setting SET value = CASE key WHEN 'days' THEN 6 WHEN 'zoom' THEN 2 WHEN 'bold' THEN 0 ELSE 'dark' END"
        let before = "bold|1|integer\ndays|5|integer\ntheme|7|text\nversion|1|integer\nzoom|1.5|real"
        try sandbox.sh(
            """
            sqlite3 $R/a.db "INSERT INTO setting VALUES ('days', 5), ('zoom', 1.5), ('bold', 1), ('theme', '7')"; backupfs backup --label B --store $S >/dev/null
            sqlite3 $R/a.db "\(change)"
            backupfs restore B --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh(types) == before)
        // A whole number in a setting with fractions is treated as the same number.
        try sandbox.sh(
            """
            sqlite3 $R/a.db "UPDATE setting SET value = 3 WHERE key = 'zoom'"; backupfs backup --label C --store $S >/dev/null; backupfs verify C --store $S >/dev/null
            sqlite3 $R/a.db "UPDATE setting SET value = 4 WHERE key = 'zoom'"; backupfs restore C --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh(types) == before.replacing("zoom|1.5|real", with: "zoom|3|integer"))
        try sandbox.sh("backupfs restore B --yes --store $S >/dev/null")
        #expect(try sandbox.sh(types) == before)
        try sandbox.sh("sqlite3 $R/a.db \"\(change)\"; backupfs restore B --yes --store $S >/dev/null; \(Self.undo)")
        #expect(
            try sandbox.sh(types) == "bold|0|integer\ndays|6|integer\ntheme|dark|text\nversion|1|integer\nzoom|2|integer")
    }

    @Test func `a file without a value does not take the rest of its row with it`() throws {
        let sandbox = try Self.sandbox()
        let before = try sandbox.sh(Self.rows)
        try sandbox.sh(
            """
            backupfs export --json -o $R/a.json --store $S; jq 'del(.userSettings.preferredLanguage)' $R/a.json >$R/less.json
            backupfs restore $R/less.json --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh(Self.rows) == before.replacing("preferred_language|de", with: "preferred_language|en"))
        // A row that has nothing else is deleted, as in the file.
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE user_settings SET updated_at = NULL WHERE key = 'preferred_language'"
            backupfs restore $R/less.json --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh(Self.rows) == before.replacing("preferred_language|de|2025-01-02\n", with: ""))
    }

    @Test func `what is read the same is not written`() throws {
        let sandbox = try Sandbox()
        // Flags as numbers, keys that are not unique, rows with their own numbers, and defaults that are not stored.
        try sandbox.sh(
            """
            backupfs init --store $S --app smilepile >/dev/null
            sqlite3 $S/app/database.sqlite "
              DROP TABLE app_settings; CREATE TABLE app_settings (id INTEGER PRIMARY KEY, key TEXT, value TEXT);
              INSERT INTO app_settings VALUES (7,'is_dark_mode','1')"
            backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null
            """)
        let rows = "sqlite3 $S/app/database.sqlite 'SELECT * FROM app_settings; SELECT key, value FROM app_metadata'"
        #expect(try sandbox.sh(rows) == "7|is_dark_mode|1\nschema_version|2")
        // A changed value keeps its spelling.
        try sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE app_settings SET value = '0'"; backupfs restore A --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh(rows) == "7|is_dark_mode|1\nschema_version|2")
    }
}
