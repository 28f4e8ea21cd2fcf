import TestSupport
import Testing

/// Triggers in the database of an app with a definition: a restore brings the rows of the file, and leaves alone the tables that
/// no collection names.
@Suite struct TriggerTests {
    private static let definition = """
        format: "1"
        name: notes
        title: Notes
        schemaVersion: "1"
        minimumSchemaVersion: "1"
        fileNames: {export: "notes_{stamp}.json", backup: "notes_backup_{stamp}.json", safety: "notes_safety_{stamp}.json"}
        retention: {safetyKeepLast: "3"}
        envelope: [about, notes, folders]
        metadata:
          name: about
          table: about
          fields:
            - {name: createdAt, source: creationTime, type: date}
            - {name: version, source: schemaVersion, type: integer}
        collections:
          - name: notes
            table: notes
            key: id
            singular: note
            plural: notes
            fields:
              - {name: id, column: id, type: integer}
              - {name: body, column: body, type: text}
              - {name: edited, column: edited, type: integer}
          - name: folders
            table: folders
            key: id
            singular: folder
            plural: folders
            fields:
              - {name: id, column: id, type: integer}
              - {name: count, column: count, type: integer}

        """

    /// A store with the backup A of two notes, a drawing, and these triggers.
    private static func sandbox(_ triggers: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(definition, to: "notes.yaml")
        try sandbox.write(
            """
            CREATE TABLE about (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
            CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, edited INTEGER NOT NULL);
            CREATE TABLE folders (id INTEGER PRIMARY KEY, count INTEGER NOT NULL);
            CREATE TABLE drawings (note INTEGER, svg TEXT);
            CREATE VIRTUAL TABLE search USING fts5(body, content=notes, content_rowid=id);
            INSERT INTO notes VALUES (1, 'Buy bread', 1000), (2, 'Call Ann', 2000); INSERT INTO folders VALUES (1, 22);
            INSERT INTO drawings VALUES (1, '<svg>hours of work</svg>'); INSERT INTO search (search) VALUES ('rebuild');
            \(triggers)
            """, to: "fill.sql")
        try sandbox.sh(
            """
            sqlite3 -bail $R/a.db <$R/fill.sql; backupfs init --store $S --app $R/notes.yaml --database $R/a.db >/dev/null
            backupfs backup --label A --store $S >$R/backup.txt 2>&1
            """)
        return sandbox
    }

    private static let changing = """
        CREATE TRIGGER touch AFTER INSERT ON notes BEGIN UPDATE notes SET edited = 7 WHERE id = new.id; END;
        CREATE TRIGGER clean AFTER DELETE ON notes BEGIN DELETE FROM drawings WHERE note = old.id; END;
        CREATE TRIGGER counted AFTER INSERT ON notes WHEN 1 = 1 BEGIN UPDATE folders SET count = count + 1; END;

        """
    private static let indexing = """
        CREATE TRIGGER found AFTER INSERT ON notes BEGIN INSERT INTO search (rowid, body) VALUES (new.id, new.body); END;
        CREATE TRIGGER lost AFTER DELETE ON notes BEGIN INSERT INTO search (search, rowid, body) VALUES ('delete', old.id, old.body); END;

        """
    private static let undo = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S >/dev/null"

    @Test func `rows come back as they are in the backup, and other tables are as they were`() throws {
        let sandbox = try Self.sandbox(Self.changing)
        try sandbox.sh("sqlite3 $R/a.db .dump >$R/before.sql; backupfs verify A --store $S >/dev/null")
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null; sqlite3 $R/a.db .dump | diff $R/before.sql -")
        let warning = """
            triggers of the app's database that change tables do not run in a restore, so rows are as in the file: clean (drawings), counted (folders), touch (notes)
            """
        #expect(try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json") == warning)
        #expect(try sandbox.sh("backupfs restore A --dry-run --store $S").contains(warning))
        try sandbox.sh("\(Self.undo); sqlite3 $R/a.db .dump | diff $R/before.sql -")
        // The app's own rows still fire them.
        #expect(
            try sandbox.sh(
                "sqlite3 $R/a.db \"INSERT INTO notes VALUES (3, 'c', 3); DELETE FROM notes WHERE id = 1; SELECT * FROM notes; SELECT * FROM folders; SELECT * FROM drawings\""
            ) == "2|Call Ann|2000\n3|c|7\n1|23")
    }

    @Test func `triggers that fill an index run, and the index fits the rows`() throws {
        let sandbox = try Self.sandbox(Self.indexing + Self.changing)
        let search = """
            sqlite3 $R/a.db "INSERT INTO search (search) VALUES ('integrity-check'); SELECT rowid FROM search WHERE search MATCH 'bread'"
            """
        try sandbox.sh("sqlite3 $R/a.db .dump >$R/before.sql")
        try sandbox.sh(
            "sqlite3 $R/a.db \"DROP TRIGGER touch; UPDATE notes SET body = 'none' WHERE id = 2; DELETE FROM notes WHERE id = 1\"")
        #expect(try sandbox.sh("sqlite3 $R/a.db \"SELECT rowid FROM search WHERE search MATCH 'bread'\"") == "")
        let schema = "sqlite3 $R/a.db \"SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid\""
        let before = try sandbox.sh(schema)
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 $R/a.db \"SELECT rowid FROM search WHERE search MATCH 'bread'\"") == "1")
        #expect(try sandbox.sh("sqlite3 $R/a.db 'SELECT * FROM notes'") == "1|Buy bread|1000\n2|Call Ann|2000")
        #expect(try sandbox.sh(schema) == before)
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh(search) == "")
        #expect(try sandbox.sh(schema) == before)
    }

    @Test func `triggers that fill an index alone are nothing to tell of`() throws {
        let sandbox = try Self.sandbox(Self.indexing)
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh("jq -r '.warnings[]' $S/restore/last.json") == "")
        #expect(try sandbox.sh("backupfs app check $R/notes.yaml --database $R/a.db").contains("warning") == false)
    }

    @Test func `a trigger that does both refuses the restore, and the backup says so`() throws {
        let sandbox = try Self.sandbox(
            """
            CREATE TRIGGER both AFTER DELETE ON notes BEGIN
                INSERT INTO search (search, rowid, body) VALUES ('delete', old.id, old.body); DELETE FROM drawings; END;
            """)
        let problem =
            "the trigger both of the table notes fills the index search, and changes the table drawings as well: a restore must run it, and must not"
        #expect(try sandbox.sh("cat $R/backup.txt").contains("a restore would be refused: " + problem))
        #expect(try sandbox.sh("backupfs status --store $S").contains(problem))
        let verified = try sandbox.run("backupfs verify A --store $S")
        #expect(verified.exitCode == 1 && verified.output.contains(problem), "\(verified.output)\(verified.errors)")
        try sandbox.sh("sqlite3 $R/a.db .dump >$R/before.sql")
        let restored = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(restored.exitCode == 1 && restored.errors.contains(problem), "\(restored.errors)")
        #expect(restored.errors.contains("Make two triggers of it, one for the index and one for the rest."))
        try sandbox.sh("sqlite3 $R/a.db .dump | diff $R/before.sql -")
        #expect(
            try sandbox.sh("backupfs app check $R/notes.yaml --database $R/a.db").contains(
                "warning: the trigger both changes drawings and fills the index search: every restore is refused. Make two triggers of it"
            ))
    }

    @Test func `app check names the triggers that no restore runs`() throws {
        let sandbox = try Self.sandbox(Self.changing)
        #expect(
            try sandbox.sh("backupfs app check $R/notes.yaml --database $R/a.db | grep -c 'a restore does not run it'") == "3")
    }
}
