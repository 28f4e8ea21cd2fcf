import TestSupport
import Testing

/// A restore of a backup copies the values of its settings and metadata unchanged (reviews H1 and H2).
struct CopiedSettingsTests {
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            format: "1"
            name: diary
            title: Diary
            schemaVersion: "2"
            minimumSchemaVersion: "1"
            fileNames: {export: "l_{stamp}.json", backup: "l_backup_{stamp}.zip", safety: "l_before_{stamp}.json"}
            retention: {safetyKeepLast: "9"}
            envelope: [about, notes, settings]
            metadata:
              name: about
              table: about
              fields:
                - {name: createdAt, source: creationTime, type: date}
                - {name: version, source: schemaVersion, key: version, type: integer}
                - {name: device, key: device, type: text, required: false}
            settings:
              name: settings
              table: settings
              fields:
                - {name: size, key: size, type: integer, required: false}
                - {name: when, key: when, type: date, required: false}
                - {name: zoom, key: zoom, type: double, required: false}
                - {name: theme, key: theme, type: text, required: false}
            collections:
              - name: notes
                table: notes
                key: id
                singular: note
                plural: notes
                fields:
                  - {name: id, column: id, type: integer}
                  - {name: body, column: body, type: text}
            """, to: "diary.yaml")
        try sandbox.sh(
            """
            sqlite3 $R/a.db <<'Q'
            create table about (key text primary key not null, value);
            create table settings (key text primary key, value, at default 1);
            create table notes (id integer primary key, body text);
            insert into about values ('version', '02'), ('device', x'61ff');
            insert into settings values ('size', '007', 5), ('when', '2024-01-02T23:30:00-05:00', 6), ('zoom', '2.50', 7), ('theme', null, 1), ('own', 'o', 1);
            insert into notes values (1, 'one');
            Q
            backupfs init --store $S --app $R/diary.yaml --database $R/a.db >/dev/null
            """)
        return sandbox
    }

    private static let dump = "sqlite3 $R/a.db .dump"
    private static let undo = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S"

    @Test func `a restore and its undo bring back each value with its type, spelling and time zone`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("sqlite3 $R/a.db \"delete from about where key = 'device'\"")
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh(
            """
            sqlite3 $R/a.db "update settings set value = case key when 'when' then '2025-05-05T01:00:00+09:00' when 'size' then '+8' when 'zoom' then '1e2'
              when 'theme' then 'dark' else value end; update settings set value = 'mine' where key = 'own'; insert into about values ('device', 'phone')"
            """)
        let changed = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before.replacing("'own','o'", with: "'own','mine'"))
        try sandbox.sh("\(Self.undo) >/dev/null")
        #expect(
            try sandbox.sh("sqlite3 $R/a.db 'select * from settings order by key; select * from about order by key'") == """
                own|mine|1
                size|+8|5
                theme|dark|1
                when|2025-05-05T01:00:00+09:00|6
                zoom|1e2|7
                device|phone
                version|02
                """)
        #expect(try sandbox.sh("\(Self.dump) | sort") == changed.split(separator: "\n").sorted().joined(separator: "\n"))
    }

    @Test(arguments: ["'abc'", "''", "3.7", "x'00ff'", "null"])
    func `a setting that the definition does not allow refuses no undo`(value: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            "sqlite3 $R/a.db \"update about set value = 'phone' where key = 'device'\"; backupfs backup --label A --store $S")
        try sandbox.sh(
            "sqlite3 $R/a.db \"update settings set value = \(value) where key = 'size'; insert into notes values (2, 'after')\"")
        let changed = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 $R/a.db \"select value from settings where key = 'size'\"") == "007")
        let undo = try sandbox.run(Self.undo)
        #expect(undo.exitCode == 0, "\(undo)")
        #expect(try sandbox.sh(Self.dump) == changed)
    }

    @Test func `without settings a restore leaves them, and metadata comes back whatever it is`() throws {
        let sandbox = try Self.makeSandbox()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh(
            """
            backupfs backup --label A --store $S
            sqlite3 $R/a.db "update settings set value = 9; update about set value = 'phone' where key = 'device'"
            """)
        let settings = "sqlite3 $R/a.db 'select value from settings'"
        try sandbox.sh("backupfs restore A --no-settings --yes --store $S >/dev/null")
        #expect(try sandbox.sh(settings) == "9\n9\n9\n9\n9")
        #expect(
            try sandbox.sh("sqlite3 $R/a.db \"select hex(value), typeof(value) from about where key = 'device'\"") == "61FF|blob")
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before.replacing("'own','o'", with: "'own',9"))
    }
}
