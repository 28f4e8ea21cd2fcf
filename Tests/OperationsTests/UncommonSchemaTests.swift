import TestSupport
import Testing

/// Schemas that SQLite accepts and few apps use: a restore and its undo bring them back as well (reviews H3 to H5).
struct UncommonSchemaTests {
    private static let dump = "sqlite3 $R/a.db '.dump --preserve-rowids'"

    private static func makeSandbox(_ sql: String) throws -> Sandbox {
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
            """, to: "diary.yaml")
        try sandbox.write("create table about (key text primary key not null, value text not null); \(sql)", to: "a.sql")
        try sandbox.sh(
            "sqlite3 -bail $R/a.db <$R/a.sql; backupfs init --store $S --app $R/diary.yaml --database $R/a.db >/dev/null")
        return sandbox
    }

    /// Restores a backup made before a change, and undoes it.
    private static func expectSameAfterRestoreAndUndo(_ sandbox: Sandbox, _ change: String, label: String = "A") throws {
        let before = try sandbox.sh(dump)
        try sandbox.write(change, to: "change.sql")
        try sandbox.sh("backupfs backup --label \(label) --store $S; sqlite3 -bail $R/a.db <$R/change.sql")
        let changed = try sandbox.sh(dump)
        let restored = try sandbox.run("backupfs restore \(label) --yes --store $S")
        #expect(restored.exitCode == 0, "\(restored)")
        #expect(try sandbox.sh(dump) == before)
        let undone = try sandbox.run("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S")
        #expect(undone.exitCode == 0, "\(undone)")
        #expect(try sandbox.sh(dump) == changed)
    }

    @Test func `columns whose names differ by the normal form of Unicode only are two`() throws {
        let sandbox = try Self.makeSandbox(
            "create table notes (id integer primary key, body text, \"caf\u{e9}\" text, \"cafe\u{301}\" text); insert into notes values (1, 'one', 'nfc', 'nfd')"
        )
        try Self.expectSameAfterRestoreAndUndo(sandbox, "update notes set body = 'x', \"caf\u{e9}\" = 'y', \"cafe\u{301}\" = 'z'")
    }

    @Test func `a foreign key that SQLite cannot check refuses no restore`() throws {
        let sandbox = try Self.makeSandbox(
            "create table notes (id integer primary key, body text); create table drawings (n references notes(body)); insert into notes values (1, 'one'); insert into drawings values ('one')"
        )
        try Self.expectSameAfterRestoreAndUndo(sandbox, "update notes set body = 'x'")
        #expect(try sandbox.run("backupfs verify A --store $S").exitCode == 0)
    }

    @Test func `rows that break a CHECK come back`() throws {
        let sandbox = try Self.makeSandbox(
            "create table notes (id integer primary key, body text check (body <> 'red')); insert into notes values (1, 'one')")
        try Self.expectSameAfterRestoreAndUndo(
            sandbox, "pragma ignore_check_constraints = on; insert into notes values (2, 'red')")
        // The reverse direction as well.
        try Self.expectSameAfterRestoreAndUndo(sandbox, "delete from notes where id = 2", label: "B")
    }
}
