import Foundation
import SystemIO
import TestSupport
import Testing

/// Data that a definition declares secret stays in the app's database.
@Suite struct SecretTests {
    @Test func `ARC-06, SEC-03: secrets and what is left of them are in nothing that is made, and stay where they are`() throws {
        let sandbox = try Sandbox()
        // A PIN, one that was changed before (on a page that SQLite has not overwritten), and 500 deleted sessions.
        try sandbox.sh(
            """
            backupfs init --store $S --app smilepile >/dev/null; cd $S/app
            backupfs app show smilepile | sed 's/^secrets:/secrets:\\n  - {table: sessions}/' > $R/app.yaml
            sed -i 's/^app: .*/app: app.yaml/' ../store.yaml; cp $R/app.yaml ../app.yaml
            sqlite3 database.sqlite "
              PRAGMA secure_delete = OFF; CREATE TABLE sessions (id INTEGER PRIMARY KEY, token TEXT);
              CREATE TRIGGER kept BEFORE DELETE ON sessions WHEN old.id > 500 BEGIN SELECT RAISE(ABORT, 'sessions are kept'); END;
              INSERT INTO categories VALUES (1,'cars','Cars',0,NULL,NULL,1,5);
              INSERT INTO app_settings VALUES ('pin','CANARY-old'),('has_pin','true'),('is_dark_mode','true');
              UPDATE app_settings SET value = 'CANARY-new' WHERE key = 'pin';
              WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 501)
                INSERT INTO sessions SELECT i, 'CANARY-session-' || i FROM n;
              PRAGMA wal_checkpoint(TRUNCATE)"
            sqlite3 database.sqlite "PRAGMA secure_delete = OFF; DELETE FROM sessions WHERE id <= 500; PRAGMA wal_checkpoint(TRUNCATE)"
            grep -aqE "CANARY-session-[1-4][0-9][0-9]" database.sqlite
            """)
        try sandbox.sh(
            """
            cd $R; backupfs backup --store $S --label a >/dev/null; backupfs restore a --store $S --target files >/dev/null
            backupfs export --store $S --json -o live.json >/dev/null; backupfs export --store $S --zip -o live.zip >/dev/null
            backupfs export a --store $S --tar -o a.tar >/dev/null; mkdir unzipped; cd unzipped; unzip -q ../live.zip
            """)
        #expect(try sandbox.sh("cd $R; grep -rlc CANARY files live.json unzipped a.tar || echo none") == "none")
        #expect(
            try sandbox.sh(
                "sqlite3 $R/files/database.sqlite 'SELECT key FROM app_settings ORDER BY key; SELECT count(*) FROM sessions'")
                == "has_pin\nis_dark_mode\n0")
        #expect(try sandbox.sh("jq -c .settings.securitySettings.hasPIN $R/files/export.json") == "true")
        // One restore by records, and one by the copy of the database.
        for file in ["a", "$R/files/database.sqlite", "$R/live.json"] {
            try sandbox.sh("backupfs restore \(file) --store $S --yes >/dev/null")
            #expect(
                try sandbox.sh(
                    "sqlite3 $S/app/database.sqlite \"SELECT value FROM app_settings WHERE key = 'pin'; SELECT token FROM sessions\""
                )
                    == "CANARY-new\nCANARY-session-501", "\(file)")
        }
        // The same data results in the same copy.
        try sandbox.sh("cd $R; sqlite3 $S/app/database.sqlite \"UPDATE app_settings SET value = 'CANARY-3' WHERE key = 'pin'\"")
        try sandbox.sh(
            "cd $R; for n in b c; do backupfs backup --store $S --label $n >/dev/null; backupfs restore $n --store $S --target $n >/dev/null; sqlite3 $S/app/database.sqlite 'UPDATE sessions SET token = token || 1'; done"
        )
        #expect(try sandbox.sh("cd $R; cmp b/database.sqlite c/database.sqlite && stat -c %a b/database.sqlite") == "600")
    }
}
