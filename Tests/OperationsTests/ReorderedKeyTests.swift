import TestSupport
import Testing

/// SQLite 3.40 reports sound tables as damaged: those WITHOUT ROWID whose key does not consist of the first columns in order. A
/// database that is really damaged is reported wherever it is restored from.
struct ReorderedKeyTests {
    private static let definition = """
        format: "1"
        name: notes
        title: Notes
        schemaVersion: "1"
        minimumSchemaVersion: "1"
        fileNames: {export: "notes_{stamp}.json", backup: "notes_backup_{stamp}.json", safety: "notes_before_{stamp}.json"}
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
            table: tags
            key: slug
            singular: tag
            plural: tags
            fields:
              - {name: slug, column: slug, type: text}
              - {name: name, column: name, type: text}
        """

    private static let undo = "backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S"
    private static let rows = "select quote(extra), quote(name), quote(slug) from tags order by slug"

    private func described(_ schema: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.write(Self.definition, to: "notes.yaml")
        try sandbox.sh(
            """
            sqlite3 $R/a.db "\(schema); CREATE TABLE about (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)"
            sqlite3 $R/a.db "insert into tags(extra, name, slug) values('SECRET', 'Red', 'red'), (NULL, 'Blue', 'blue')"
            backupfs init --store $S --app $R/notes.yaml --database $R/a.db; backupfs config set schedule off --store $S
            """)
        return sandbox
    }

    @Test(
        arguments: [
            "create table tags(extra, name TEXT NOT NULL, slug TEXT PRIMARY KEY) WITHOUT ROWID",
            "create table tags(extra TEXT, name TEXT NOT NULL, slug TEXT, PRIMARY KEY(slug, name)) STRICT, WITHOUT ROWID",
        ])
    func `an app's table whose key comes last is sound`(schema: String) throws {
        let sandbox = try described(schema)
        let before = try sandbox.sh("sqlite3 $R/a.db '\(Self.rows)'")
        try sandbox.sh(
            """
            backupfs backup --label full --store $S && backupfs verify full --store $S
            sqlite3 $R/a.db "update tags set extra = 'other', name = 'other'"
            backupfs restore full --yes --store $S
            """)
        #expect(try sandbox.sh("sqlite3 $R/a.db '\(Self.rows)'") == before)
        // Undo the restore.
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh("sqlite3 $R/a.db 'select distinct extra, name from tags'") == "other|other")
    }

    @Test func `a database with such a table is backed up, restored and put back`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db 'create table tags(name TEXT NOT NULL, slug TEXT PRIMARY KEY) WITHOUT ROWID;
                create table "a.b"("c.d" TEXT NOT NULL, e NOT NULL, k INT PRIMARY KEY) WITHOUT ROWID;
                insert into "a.b" values (1, 2, 3)'
            backupfs init --store $S --database $R/a.db; backupfs config set schedule off --store $S; backupfs backup --label empty --store $S
            sqlite3 $R/a.db "insert into tags values('Red things','red'),('Blue','blue')"
            backupfs backup --label full --store $S && backupfs verify full --store $S
            backupfs restore empty --yes --store $S
            """)
        #expect(try sandbox.sh("sqlite3 $R/a.db 'select count(*) from tags'") == "0")
        // The safety backup undoes it.
        try sandbox.sh(Self.undo)
        #expect(try sandbox.sh("sqlite3 $R/a.db 'select name from tags order by slug'") == "Blue\nRed things")
        try sandbox.sh("sqlite3 $R/a.db 'delete from tags'; backupfs restore full --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/a.db 'select count(*) from tags'") == "2")
    }

    @Test func `damage behind a thousand such rows is found`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "create table tags(name TEXT NOT NULL, slug TEXT PRIMARY KEY) WITHOUT ROWID;
                with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000) insert into tags select x, 'k' || x from c;
                create table zz(a); insert into zz values (NULL); pragma writable_schema = on;
                update sqlite_schema set sql = 'CREATE TABLE zz(a NOT NULL)' where name = 'zz'"
            backupfs init --store $S --database $R/a.db; backupfs config set schedule off --store $S
            """)
        let backup = try sandbox.run("backupfs backup --label hurt --store $S")
        #expect(backup.exitCode == 3)
        #expect(backup.errors.contains("NULL value in zz.a"), "\(backup.errors)")
    }

    /// The records were restored from the export, and data that no field names was silently lost.
    @Test func `a restore from a damaged database says what it leaves`() throws {
        let sandbox = try described("create table tags(extra, name TEXT NOT NULL, slug TEXT PRIMARY KEY)")
        // The count of free pages in the header: SQLite finds it wrong, but all rows are readable.
        try sandbox.sh("printf '\\0\\0\\0\\5' | dd of=$R/a.db bs=1 seek=36 conv=notrunc status=none")
        #expect(try sandbox.run("backupfs backup --label hurt --store $S").exitCode == 3)
        try sandbox.sh(
            "printf '\\0\\0\\0\\0' | dd of=$R/a.db bs=1 seek=36 conv=notrunc status=none; sqlite3 $R/a.db 'delete from tags'")
        let restore = try sandbox.run("backupfs restore hurt --yes --store $S")
        #expect(
            (restore.output + restore.errors).contains(
                "the database of the backup is damaged: what only it holds is not restored"))
        #expect(try sandbox.sh("sqlite3 $R/a.db '\(Self.rows)'") == "NULL|'Blue'|'blue'\nNULL|'Red'|'red'")
    }
}
