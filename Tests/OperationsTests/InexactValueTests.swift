import TestSupport
import Testing

/// Values that no export can represent: `database.sqlite` of a backup has them, and a restore by name brings them back.
struct InexactValueTests {
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            format: "1"
            name: diary
            title: Diary
            schemaVersion: "1"
            minimumSchemaVersion: "1"
            fileNames: {export: "l_{stamp}.json", backup: "l_backup_{stamp}.zip", safety: "l_before_{stamp}.zip"}
            retention: {safetyKeepLast: "3"}
            envelope: [about, notes]
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
                  - {name: body, column: body, type: text, nullable: true}
                  - {name: size, column: size, type: double, nullable: true}
            media: {folder: pics}
            """, to: "diary.yaml")
        try sandbox.sh(
            """
            sqlite3 $R/a.db <<'Q'
            create table about (key text primary key not null, value text not null);
            create table notes (id integer primary key, body text, size);
            insert into notes values (1, cast(x'61ff62' as text), 1.5), (2, cast(x'eda080' as text), 9007199254740993), (3, 'good', 2.5);
            Q
            mkdir $R/pics; printf one > $R/pics/one.jpg
            backupfs init --store $S --app $R/diary.yaml --database $R/a.db --media $R/pics
            """)
        return sandbox
    }

    private static let rows =
        "sqlite3 $R/a.db 'select id, hex(body), typeof(body), size, typeof(size) from notes'; cat $R/pics/one.jpg"
    private static let old = """
        1|61FF62|text|1.5|real
        2|EDA080|text|9007199254740993|integer
        3|676F6F64|text|2.5|real
        one
        """
    private static let warning = "the export cannot hold 2 values as they are; database.sqlite has them"

    @Test func `a restore by name brings back texts that are not UTF-8, and integers that no double has`() throws {
        let sandbox = try Self.makeSandbox()
        let backup = try sandbox.run("backupfs backup --label A --store $S")
        #expect(backup.exitCode == 0 && backup.errors.contains("\(Self.warning): note 1: body is not of"), "\(backup)")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq -r '.lastBackup.warnings[0]'").hasPrefix(Self.warning))
        #expect(try sandbox.run("backupfs verify A --store $S").exitCode == 0)
        // A backup that takes over the export reports them too.
        let next = try sandbox.run("printf new > $R/pics/new.jpg; backupfs backup --label B --store $S")
        #expect(next.exitCode == 0 && next.errors.contains(Self.warning), "\(next)")
        let result = try sandbox.run(
            "sqlite3 $R/a.db 'delete from notes where id = 2'; printf two > $R/pics/one.jpg; backupfs restore B --yes --store $S")
        #expect(
            result.exitCode == 0 && result.output.contains("To undo the restore, use backupfs restore with its name"), "\(result)"
        )
        #expect(try sandbox.sh(Self.rows) == Self.old)
        try sandbox.sh("sqlite3 $R/a.db 'delete from notes'; backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(Self.rows) == Self.old)
    }

    @Test func `the undo by name brings them back`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "create table kept as select * from notes; update notes set body = 'x', size = 1"; backupfs backup --label A --store $S
            sqlite3 $R/a.db 'delete from notes; insert into notes select * from kept; drop table kept'
            """)
        #expect(try sandbox.sh(Self.rows) == Self.old)
        try sandbox.sh("backupfs restore A --yes --store $S")
        #expect(try sandbox.sh(Self.rows).hasPrefix("1|78|text|1|integer\n"))
        try sandbox.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S")
        #expect(try sandbox.sh(Self.rows) == Self.old)
    }

    @Test func `where all values fit nothing is said`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("sqlite3 $R/a.db 'delete from notes where id < 3'")
        let backup = try sandbox.run("backupfs backup --label A --store $S")
        #expect(backup.exitCode == 0 && backup.errors == "", "\(backup)")
    }
}
