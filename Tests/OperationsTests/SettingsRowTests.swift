import TestSupport
import Testing

/// Tables of keys and values that have more columns than a restore writes: it changes values, and no rows.
@Suite struct SettingsRowTests {
    private static func room() throws -> Room {
        let room = try Room()
        try room.sh(
            """
            backupfs init --store $S --sample >/dev/null
            sqlite3 $S/app/database.sqlite "
              ALTER TABLE user_settings ADD COLUMN updated_at TEXT; ALTER TABLE app_metadata ADD COLUMN note;
              INSERT OR REPLACE INTO user_settings VALUES ('preferred_currency','EUR','2025-01-01'),('preferred_language','de','2025-01-02'),('other','o','2025-01-03');
              INSERT OR REPLACE INTO app_metadata VALUES ('app_version','1.0','a'),('device_name','phone',7);
              UPDATE app_metadata SET note = 's' WHERE key = 'schema_version'"
            """)
        return room
    }

    private static let rows =
        "sqlite3 $S/app/database.sqlite 'SELECT * FROM user_settings ORDER BY key; SELECT * FROM app_metadata ORDER BY key'"

    @Test func `further columns are as they were after a restore and its undo`() throws {
        let room = try Self.room()
        let before = try room.sh(Self.rows)
        #expect(
            before == """
                other|o|2025-01-03
                preferred_currency|EUR|2025-01-01
                preferred_language|de|2025-01-02
                app_version|1.0|a
                device_name|phone|7
                schema_version|1|s
                """)
        try room.sh("backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null")
        #expect(try room.sh(Self.rows) == before)
        try room.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE user_settings SET value = 'USD', updated_at = '2026-06-06' WHERE key = 'preferred_currency'"
            backupfs restore A --yes --store $S >/dev/null
            """)
        // The value is the backup's, and what no export has is as it was.
        #expect(try room.sh(Self.rows) == before.replacing("EUR|2025-01-01", with: "EUR|2026-06-06"))
        try room.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S >/dev/null")
        #expect(try room.sh(Self.rows) == before.replacing("EUR|2025-01-01", with: "USD|2026-06-06"))
    }

    @Test func `a file without a value does not take the rest of its row with it`() throws {
        let room = try Self.room()
        let before = try room.sh(Self.rows)
        try room.sh(
            "backupfs export --json -o $R/a.json --store $S; jq 'del(.userSettings.preferredLanguage)' $R/a.json >$R/less.json")
        let refused = try room.run("backupfs restore $R/less.json --yes --store $S")
        #expect(
            refused.status != 0
                && refused.complaint.contains(
                    "no value for preferred_language, whose row in the table user_settings also holds updated_at"),
            "\(refused.complaint)")
        #expect(try room.sh(Self.rows) == before)
        // A row that has nothing else goes, as the file has it.
        try room.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE user_settings SET updated_at = NULL WHERE key = 'preferred_language'"
            backupfs restore $R/less.json --yes --store $S >/dev/null
            """)
        #expect(try room.sh(Self.rows) == before.replacing("preferred_language|de|2025-01-02\n", with: ""))
    }

    @Test func `what is read the same is not written`() throws {
        let room = try Room()
        // Flags as numbers, keys that are not unique, rows with numbers of their own, and defaults that nobody has stored.
        try room.sh(
            """
            backupfs init --store $S --app smilepile >/dev/null
            sqlite3 $S/app/database.sqlite "
              DROP TABLE app_settings; CREATE TABLE app_settings (id INTEGER PRIMARY KEY, key TEXT, value TEXT);
              INSERT INTO app_settings VALUES (7,'is_dark_mode','1')"
            backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null
            """)
        let rows = "sqlite3 $S/app/database.sqlite 'SELECT * FROM app_settings; SELECT key, value FROM app_metadata'"
        #expect(try room.sh(rows) == "7|is_dark_mode|1\nschema_version|2")
        // Changed, it is spelt as before.
        try room.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE app_settings SET value = '0'"; backupfs restore A --yes --store $S >/dev/null
            """)
        #expect(try room.sh(rows) == "7|is_dark_mode|1\nschema_version|2")
    }
}
