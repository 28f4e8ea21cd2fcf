import TestSupport
import Testing

/// An index that lacks rows of its table: SQLite's quick check finds nothing, and reads in index order miss the rows.
struct StaleIndexTests {
    /// Replaces the pages of a table's key index in the database `$1` with those of an index that has only the first rows.
    private static let spoil = """
        cat > $R/spoil.py <<'END'
        import sqlite3, sys
        path, table, keep = sys.argv[1], sys.argv[2], int(sys.argv[3])
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("CREATE TABLE spare (id TEXT PRIMARY KEY NOT NULL)")
        connection.execute(f"INSERT INTO spare (rowid, id) SELECT rowid, id FROM {table} ORDER BY id LIMIT {keep}")
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE name LIKE 'sqlite_autoindex_%'"))
        whole, part = f"sqlite_autoindex_{table}_1", "sqlite_autoindex_spare_1"
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (roots[part], whole))
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = ?", (roots[whole], part))
        connection.close()
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("DROP TABLE spare")
        print(connection.execute("PRAGMA quick_check").fetchone()[0])
        END
        python3 $R/spoil.py
        """

    private static let problem = "the index sqlite_autoindex_entries_1 has 5 entries for the 633 rows of the table entries"

    @Test func `U-A10: a backup of a table whose index lacks rows has them all, and says that the index is damaged`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app keeptrack --sample --store $S >/dev/null; backupfs backup --label whole --store $S")
        #expect(try sandbox.sh(Self.spoil + " $S/app/database.sqlite entries 5") == "ok")
        let backup = try sandbox.run("backupfs backup --label one --store $S")
        #expect(backup.exitCode == 3 && backup.output == "one\n", "\(backup)")
        #expect(backup.errors.contains("database.sqlite: SQLite finds it damaged: \(Self.problem)"), "\(backup)")
        #expect(backup.errors.contains("REINDEX"), "\(backup)")
        try sandbox.sh(
            "backupfs export one --json -o $R/one.json --store $S; backupfs export whole --json -o $R/whole.json --store $S")
        #expect(try sandbox.sh("jq '.entries | length' $R/one.json") == "633")
        #expect(
            try sandbox.sh("jq -cS .entries $R/one.json | sha256sum; jq -cS .entries $R/whole.json | sha256sum").split(
                separator: "\n"
            )
            .map { $0.prefix(64) }.reduce(into: Set()) { $0.insert($1) }.count == 1)
        // It is reported each time, and by the manifest and the status.
        #expect(try sandbox.run("backupfs backup --label two --store $S").exitCode == 3)
        #expect(
            try sandbox.sh("backupfs export one --member manifest.json --store $S 2>/dev/null || backupfs ls one --store $S")
                != "")
        let verified = try sandbox.run("backupfs verify one --store $S")
        #expect(
            verified.exitCode == 1 && verified.output.contains("missing from index sqlite_autoindex_entries_1"), "\(verified)")
        // The remedy.
        try sandbox.sh("sqlite3 $S/app/database.sqlite REINDEX")
        let mended = try sandbox.run("backupfs backup --label three --store $S; backupfs verify three --store $S")
        #expect(mended.exitCode == 0 && mended.errors == "", "\(mended)")
    }

    @Test func `U-B4: automatic backups that are not whole are reported like failures`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --app keeptrack --sample --store $S >/dev/null; backupfs config set skip-unchanged no --store $S
            backupfs config set notify 'echo $BACKUPFS_EVENT,$BACKUPFS_ERROR,$BACKUPFS_NAME >> told' --store $S
            BACKUPFS_NOW=2026-01-10T10:00:00Z backupfs backup --if-due --store $S
            """)
        try sandbox.sh(Self.spoil + " $S/app/database.sqlite entries 5")
        for day in 11...14 {
            let result = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-\(day)T10:00:00Z"])
            #expect(result.exitCode == 3, "\(result)")
        }
        #expect(
            try sandbox.sh("cat $S/told")
                == "failing,sourceUnreadable,2026-01-13_10-00-00\nfailing,sourceUnreadable,2026-01-14_10-00-00")
    }

    @Test func `an index of a database without an app definition is examined as well`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "create table t (id text primary key not null, a, b generated always as (a + 1)); create index ta on t (a);
            create index part on t (a) where a > 2; create index b on t (b); create index e on t (a + 1);
            create table w (id text primary key, c) without rowid; create index wc on w (c);
            insert into t (id, a) values ('x', 1), ('y', 2), ('z', 3); insert into w values ('k', 1), ('l', 2)"
            backupfs init --store $S --database $R/a.db
            """)
        let sound = try sandbox.run("backupfs backup --label sound --store $S")
        #expect(sound.exitCode == 0 && sound.errors == "", "\(sound)")
        #expect(try sandbox.sh(Self.spoil + " $R/a.db t 2") == "ok")
        let backup = try sandbox.run("backupfs backup --label one --store $S")
        #expect(backup.exitCode == 3, "\(backup)")
        #expect(
            backup.errors.contains("the index sqlite_autoindex_t_1 has 2 entries for the 3 rows of the table t"), "\(backup)")
        #expect(
            try sandbox.sh("backupfs export one --json -o $R/one.json --store $S >/dev/null; jq -c '[.t[].id]' $R/one.json")
                == #"["x","y","z"]"#)
    }
}
