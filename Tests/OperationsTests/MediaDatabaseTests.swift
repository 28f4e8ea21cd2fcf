import Foundation
import TestSupport
import Testing

@testable import Operations

/// Databases that are not the app's records, but are among its media or are all that it has.
struct MediaDatabaseTests {
    /// A writer with a log that checkpoints often: copied file by file, database and log would be from different moments.
    @Test func `R-A15: a database among the media is copied through SQLite, also while the app writes to it`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.write(
            """
            import os, sqlite3, sys, time
            c = sqlite3.connect(sys.argv[1], isolation_level=None)
            c.execute("pragma journal_mode = wal"); c.execute("pragma wal_autocheckpoint = 20")
            c.execute("create table t(id integer primary key, a blob)"); c.execute("create table pairs(low, high)")
            n = 0
            while n == 0 or os.path.exists(sys.argv[2]):
                n += 1
                c.execute("begin"); c.execute("insert into t values (?, randomblob(9000))", (n,))
                c.execute("insert into pairs values (?, ?)", (n, n)); c.execute("delete from t where id < ?", (n - 50,)); c.execute("commit")
                if n == 1: open(sys.argv[2], "w")
                # Each copy meets many transactions, and the backup finds a processor.
                time.sleep(0.003)
            """, to: "writer.py")
        try sandbox.sh(
            """
            python3 $R/writer.py $S/app/photos/x.db $R/go & writer=$!
            wait_until [ -e $R/go ]
            for i in 1 2 3 4 5 6; do backupfs backup --label b$i --store $S >/dev/null; done
            rm $R/go; wait $writer
            for i in 1 2 3 4 5 6; do backupfs restore b$i --target $R/b$i --store $S >/dev/null; done
            """)
        for number in 1...6 {
            #expect(try sandbox.sh("cd $R/b\(number)/media; ls -A | grep x.db") == "x.db")
            #expect(
                try sandbox.sh(
                    "sqlite3 $R/b\(number)/media/x.db 'pragma integrity_check; select count(*) > 0 and count(*) = max(low) and max(low) = (select max(id) from t) from pairs'"
                )
                    == "ok\n1", "backup \(number)")
        }
    }

    @Test func `R-A15: what only has the beginning of a database is stored as it is, with what lies beside it`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; printf 'SQLite format 3\\0 and nothing else' > y.db; printf log > y.db-wal; printf alone > z.db-wal; printf text > z.db
            backupfs backup --label one --store $S; backupfs restore one --target $R/out --store $S >/dev/null
            """)
        #expect(
            try sandbox.sh(
                "cd $R/out/media; for f in y.db y.db-wal z.db z.db-wal; do cmp $f $S/app/photos/$f && echo $f; done | tr '\\n' ' '"
            ) == "y.db y.db-wal z.db z.db-wal ")
    }

    @Test func `F2: the printed undo brings back tables and columns that the restored database does not have`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "create table t(id integer primary key, a text); insert into t values (1,'x')"
            backupfs init --store $S --database $R/a.db; backupfs backup --label old --store $S
            sqlite3 $R/a.db "alter table t add column b text; create table n(x); insert into n values(5); insert into t values(2,'y','new'); create view v as select 1"
            """)
        let before = try sandbox.sh("sqlite3 $R/a.db .dump")
        let told = try sandbox.sh("backupfs restore old --yes --store $S")
        let name = try sandbox.sh("jq -r .safetyBackup $S/restore/last.json")
        #expect(name.hasSuffix(".zip") && told.contains("Or in the mount: cp safety/\(name) restore/"), "\(told)")
        #expect(try sandbox.sh("sqlite3 $R/a.db .dump") != before)
        // The command accepts its file's name, and its own.
        try sandbox.sh("cd $R; backupfs restore \(name) --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/a.db .dump") == before)
        let own = try #require(try Store.open(sandbox.storePath).ownSnapshots(kind: .safety).first?.name)
        try sandbox.sh("sqlite3 $R/a.db 'drop table n'; backupfs restore '\(own)' --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/a.db .dump") == before)
    }

    @Test func `F5: a damaged database is backed up with a warning, each time, and an exit code`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "pragma page_size = 4096; create table t(id integer primary key, a text); create index i on t(a);"
            sqlite3 $R/a.db "with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) insert into t select i, 'text ' || i from n"
            backupfs init --store $S --database $R/a.db; backupfs backup --label whole --store $S
            """)
        // A page of the index: no record is lost, and reads of the table do not notice.
        let page = try sandbox.sh(
            "sqlite3 $R/a.db \"select pageno from dbstat where name = 'i' and pagetype = 'leaf' limit 1\" 2>/dev/null || echo 0")
        try sandbox.sh(
            """
            python3 - <<'P'
            import os, sqlite3
            path = os.environ['R'] + '/a.db'
            data = bytearray(open(path, 'rb').read()); page = \(page) or None
            if not page:
                page = next(p for p in range(2, len(data) // 4096) if data[p * 4096] == 0x0A) + 1
            data[(page - 1) * 4096:page * 4096] = bytes(4096)
            open(path, 'r+b').write(data)
            P
            """)
        for number in 1...2 {
            let result = try sandbox.run("backupfs backup --label damaged\(number) --store $S")
            #expect(result.exitCode == 3, "\(result)")
            #expect(result.errors.contains("database.sqlite: SQLite finds it damaged"), "\(result)")
        }
        #expect(try sandbox.sh("backupfs snapshots --store $S | grep -c damaged") == "2")
        // Damaged data may be replaced: that is the purpose of the backup.
        try sandbox.sh("backupfs restore whole --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/a.db 'pragma integrity_check; select count(*) from t'") == "ok\n2000")
    }
}
