import TestSupport
import Testing

/// Restoring a backup of an app with a definition copies the rows of the backup's database, including what no export holds
/// (reviews F1 to F8).
struct BackupRowsTests {
    /// Notes with columns that no field names, keyed by texts, and a table that refers to the numbers of their rows.
    /// - Parameters:
    ///   - more: additional lines of the definition.
    ///   - createdAt: whether an export contains its creation time.
    static func makeSandbox(_ more: String = "", createdAt: Bool = true) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            format: "1"
            name: diary
            title: Diary
            schemaVersion: "1"
            minimumSchemaVersion: "1"
            fileNames: {export: "l_{stamp}.json", backup: "l_backup_{stamp}.zip", safety: "l_before_{stamp}.json"}
            retention: {safetyKeepLast: "9"}
            envelope: [about, notes]
            metadata:
              name: about
              table: about
              fields:
                \(createdAt ? "- {name: createdAt, source: creationTime, type: date}" : "")
                - {name: version, source: schemaVersion, type: integer}
            collections:
              - name: notes
                table: notes
                key: id
                singular: note
                plural: notes
                fields:
                  - {name: id, column: id, type: text}
                  - {name: body, column: body, type: text, default: "untitled"}
                  - {name: at, column: at, type: date, nullable: true}
                  - {name: size, column: size, type: double, nullable: true}
            \(more)
            """, to: "diary.yaml")
        try sandbox.sh(
            """
            sqlite3 $R/a.db <<'Q'
            create table about (key text primary key not null, value text not null);
            create table notes (id text primary key, body text, at, size, archived integer default 1, added text default current_timestamp);
            create table drawings (note_rowid integer, note text references notes(id), svg text);
            insert into notes(rowid, id, body, at, size, archived, added) values
              (7, 'zebra', 'one', '2024-01-02T23:30:00-05:00', 7, null, null), (3, 'ape', null, '2024-01-02 03:04:05Z', 1.5, 0, 'once');
            insert into drawings values (7, 'zebra', 'of the zebra'), (3, 'ape', 'of the ape');
            Q
            backupfs init --store $S --app $R/diary.yaml --database $R/a.db >/dev/null
            """)
        return sandbox
    }

    static let dump = "sqlite3 $R/a.db '.dump --preserve-rowids'"
    static let undo = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S"

    @Test(arguments: ["A", "$R/a.json", "$R/a.zip", "$R/a.tar", "$R/files/database.sqlite"])
    func `a restore of a backup, or of its files, brings back each row as it was`(what: String) throws {
        let sandbox = try Self.makeSandbox()
        let before = try sandbox.sh(Self.dump)
        let backup = try sandbox.run("backupfs backup --label A --store $S")
        #expect(
            backup.exitCode == 0
                && backup.errors.contains("do not have notes.added, notes.archived, which hold data: a restore of the backup"),
            "\(backup)")
        try sandbox.sh("backupfs verify A --store $S >/dev/null; backupfs restore A --target $R/files --store $S >/dev/null")
        for (option, name) in [("", "json"), ("--zip", "zip"), ("--tar", "tar")] {
            try sandbox.sh("backupfs export A \(option) --output $R/a.\(name) --store $S >/dev/null")
        }
        try sandbox.sh("backupfs restore \(what) --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
        try sandbox.sh(
            "sqlite3 $R/a.db \"update notes set body = 'x', at = 'y', size = 2, archived = 5; update drawings set svg = 'z'\"")
        let changed = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore \(what) --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before.replacing("of the zebra", with: "z").replacing("of the ape", with: "z"))
        try sandbox.sh("\(Self.undo) >/dev/null")
        #expect(try sandbox.sh(Self.dump) == changed)
    }

    /// SQLite treats an unknown name in quotes as a text.
    @Test func `a column whose name is not UTF-8 is never filled with its name`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            #"python3 -c "import sys; sys.stdout.buffer.write(b'alter table notes add column \"\\xff\"; alter table notes add column \"\\xfe\" default 4;')" | sqlite3 $R/a.db"#
        )
        let rows = "sqlite3 $R/a.db 'select * from notes order by id' | sha256sum"
        let before = try sandbox.sh(rows)
        let backup = try sandbox.run("backupfs backup --label A --store $S")
        #expect(
            backup.errors.contains("only database.sqlite of the backup has it, and a restore would be refused"), "\(backup)")
        let result = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("a restore would lose its values"), "\(result)")
        #expect(try sandbox.sh(rows) == before)
    }

    @Test func `columns that came later take their defaults, and do not stand in the way of the next restore`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            "backupfs backup --label A --store $S; sqlite3 $R/a.db \"alter table notes add column color text default 'red'\"")
        try sandbox.sh("sqlite3 $R/a.db \"update notes set color = 'blue'\"")
        let blue = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 $R/a.db 'select id, body, color from notes order by id'") == "ape||red\nzebra|one|red")
        try sandbox.sh("\(Self.undo) >/dev/null")
        #expect(try sandbox.sh(Self.dump) == blue)
    }

    @Test func `what the database has no place for is said`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs backup --label A --store $S; rm $R/a.db
            sqlite3 $R/a.db 'create table about (key text primary key not null, value text not null);
              create table notes (id text primary key, body text, at, size, added text); create table drawings (note_rowid integer, svg text)'
            """)
        let result = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(
            result.exitCode == 0 && result.output.contains("the backup's database also holds notes.archived, drawings, which"),
            "\(result)")
        #expect(try sandbox.sh("sqlite3 $R/a.db 'select rowid, id, added from notes order by id'") == "3|ape|once\n7|zebra|")
    }

    @Test func `references that were broken before refuse neither a restore nor its undo`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs backup --label A --store $S; sqlite3 $R/a.db \"delete from notes where id = 'ape'\"")
        let broken = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs backup --label B --store $S; backupfs restore A --yes --store $S >/dev/null")
        #expect(
            try sandbox.sh("backupfs verify B --store $S").contains(
                "row 2 of the table drawings refers to a row of notes that is not there. A restore brings such rows back"))
        let undo = try sandbox.run(Self.undo)
        #expect(
            undo.exitCode == 0
                && undo.output.contains("1 record refers to one that is not there, as before: in the table drawings"),
            "\(undo)")
        #expect(try sandbox.sh(Self.dump) == broken)
        try sandbox.sh("backupfs restore B --yes --store $S >/dev/null")
        // A value that the restore itself would break still causes a refusal.
        try sandbox.sh(
            "backupfs restore A --yes --store $S >/dev/null; sqlite3 $R/a.db \"insert into notes(id, body) values ('new', 'b'); insert into drawings values (9, 'new', 's')\""
        )
        let now = try sandbox.sh(Self.dump)
        let refused = try sandbox.run("backupfs restore A --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("a record of the table drawings refers to one"), "\(refused)")
        #expect(try sandbox.sh(Self.dump) == now)
    }

    @Test func `a trigger that has the name of the table it writes to does not run`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db 'create table kept as select * from drawings; drop table drawings;
              create table drawings (note_rowid integer, note text, svg text);
              create trigger drawings after delete on notes begin delete from drawings where note = old.id; end;
              create table later (x); drop table drawings; create table drawings (note_rowid integer, note text, svg text);
              insert into drawings select * from kept; drop table kept'
            """)
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("backupfs backup --label A --store $S; backupfs restore A --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
    }
}
