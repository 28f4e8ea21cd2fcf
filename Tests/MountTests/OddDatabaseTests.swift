import TestSupport
import Testing

/// Databases and folders with unusual names and collations.
@Suite(.enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"))
struct OddDatabaseTests {
    @Test func `F4: a database whose column has a name that is not UTF-8 is refused, and the store goes on working`() throws {
        try Sandbox.use { sandbox in
            try sandbox.python(
                #"""
                os.chdir(R)
                for name, text in (("ours.db", b"create table t(id integer primary key, a text)"),
                                   ("column.db", b'create table t(id integer primary key, "a\xff" text)'),
                                   ("table.db", b'create table "t\xff"(id integer primary key)')):
                    subprocess.run(["sqlite3", name], input=text + b";", check=True)
                subprocess.run(["sqlite3", "ours.db", "insert into t values(1,'x')"], check=True)
                subprocess.run(["sqlite3", "column.db"], input=b"insert into t values(1,'x');", check=True)
                """#)
            try sandbox.sh("backupfs init --store $S --database $R/ours.db; backupfs mount --store $S $M; mkdir $M/snapshots/a")
            try sandbox.fails("cp $R/column.db $M/restore/x.sqlite", saying: "Operation not supported")
            #expect(try sandbox.report(".message").contains("a column of the table t has a name that is not UTF-8"))
            try sandbox.sh(
                "sqlite3 $R/ours.db \"insert into t values(2,'y')\"; ls $M/live; mkdir $M/snapshots/b; cp $M/snapshots/a/archive.zip $M/restore/"
            )
            #expect(try sandbox.sh("sqlite3 $R/ours.db 'select * from t'") == "1|x")
            try sandbox.unmount()
            for name in ["column", "table"] {
                try sandbox.fails("backupfs init --store $R/\(name) --database $R/\(name).db", saying: "not UTF-8", exitCode: 1)
            }
        }
    }

    @Test func `F7: a line break in a table's name leaves the export valid, and it comes back`() throws {
        try Sandbox.use { sandbox in
            let long = String(repeating: "%", count: 90)
            try sandbox.sh(
                #"""
                sqlite3 $R/a.db $'create table "t\n1"(a); insert into "t\n1" values(1); create table "\#(long)"(b); insert into "\#(long)" values(2)'
                backupfs init --store $S --database $R/a.db; backupfs mount --store $S $M; mkdir $M/snapshots/one
                jq -e . $M/snapshots/one/export.json >/dev/null; cat $M/snapshots/one/data/*.json >/dev/null; cat $M/live/data/* >/dev/null
                [ $(ls $M/snapshots/one/data | wc -l) = 2 ]; backupfs verify one --store $S >/dev/null
                """#)
            let before = try sandbox.sh("sqlite3 $R/a.db .dump")
            for name in ["export.json", "archive.zip", "database.sqlite"] {
                try sandbox.sh(#"sqlite3 $R/a.db $'delete from "t\n1"'; cp $M/snapshots/one/\#(name) $M/restore/"#)
                #expect(try sandbox.sh("sqlite3 $R/a.db .dump") == before, "\(name)")
            }
            try sandbox.unmount()
        }
    }

    /// Anki's database.
    @Test func `F6, U-B1: a database with an order of its own is backed up, and comes back whole`() throws {
        try Sandbox.use { sandbox in
            try sandbox.python(
                """
                os.chdir(R)
                database = sqlite3.connect("anki.db")
                database.create_collation("unicase", lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
                database.executescript('''create table notetypes(id integer primary key, name text not null collate unicase);
                create unique index names on notetypes(name); create table tags(tag text not null primary key collate unicase, n integer) without rowid;''')
                names = ["b", "A", "c", "Ä", "ä2", "Z", "_", "~"]
                database.executemany("insert into notetypes(name) values(?)", [(each,) for each in names])
                database.executemany("insert into tags values(?, 1)", [(each,) for each in names])
                database.commit()
                """)
            try sandbox.sh(
                "cp $R/anki.db $R/original.db; backupfs init --store $S --database $R/anki.db; backupfs mount --store $S $M")
            try sandbox.sh(
                "mkdir $M/snapshots/one; jq -e '.notetypes | length == 8' $M/snapshots/one/export.json; jq -e '.tags | length == 8' $M/live/export.json"
            )
            #expect(try sandbox.sh("jq -c .records $M/status.json") == "{\"notetypes\":8,\"tags\":8}")
            let content = """
                database = sqlite3.connect(R + "/anki.db")
                database.create_collation("unicase", lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
                """
            for way in [
                "cp $M/snapshots/one/archive.zip $M/restore/", "cp $M/snapshots/one/database.sqlite $M/restore/",
                "cp $M/snapshots/one/database.sqlite $R/x.sqlite; cp $R/x.sqlite $M/restore/",
                "backupfs restore one --yes --store $S",
            ] {
                try sandbox.python(content + "\ndatabase.execute('delete from tags where tag > ?', ('c',)); database.commit()")
                try sandbox.sh(way)
                // SQLite itself verifies the indexes with the app's own collation, and finds every row through them.
                try sandbox.python(
                    content + """

                        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
                        other = sqlite3.connect(R + "/original.db")
                        other.create_collation("unicase", lambda a, b: (a.lower() > b.lower()) - (a.lower() < b.lower()))
                        for query in ("select * from notetypes order by id", "select * from tags order by tag"):
                            assert database.execute(query).fetchall() == other.execute(query).fetchall(), query
                        assert database.execute("select n from tags where tag = 'ä2'").fetchone() == (1,)
                        """)
            }
            // Row by row it is impossible without the app's collation.
            try sandbox.fails("cp $M/snapshots/one/export.json $M/restore/", saying: "Operation not supported")
            #expect(
                try sandbox.sh("cat $M/restore/last.txt").contains("Restore the backup's database.sqlite, or its archive.zip."))
            try sandbox.unmount()
        }
    }

    @Test func `R-A19: without a write-ahead log the app can write while an export is rendered`() throws {
        try Sandbox.withMount("--sample") { sandbox in
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'pragma journal_mode = delete' >/dev/null")
            // In the middle of the rendering, the app can write, without a wait for its end.
            let exported = try sandbox.sh(
                """
                touch $R/pause
                BACKUPFS_FAULT="records.rendered=pause:$R/pause" backupfs backup --store $S --label one > $R/made 2>&1 & backup=$!
                wait_paused $R/pause $backup
                sqlite3 -cmd '.timeout 10000' $S/app/database.sqlite "update expenses set notes = 'written meanwhile' where id = 1"
                rm -f $R/pause
                wait $backup
                grep -c 'written meanwhile' $M/snapshots/one/export.json || true
                sqlite3 $S/app/database.sqlite 'select notes from expenses where id = 1'
                """)
            #expect(exported == "0\nwritten meanwhile")
        }
    }

    @Test func `F3: photos with names that are not UTF-8 come back, and so does the way back`() throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                #"""
                mkdir $R/lib; cd $R/lib; printf hello > $'caf\xe9.jpg'; printf world > $'caf\xe8.jpg'; mkdir $'d\xff'; printf inner > $'d\xff/x.jpg'; printf two > ok.jpg
                touch -d '2024-07-01 12:00:00' *.jpg */*.jpg
                backupfs init --store $S --app photo-library --media $R/lib; backupfs mount --store $S $M; mkdir $M/snapshots/a
                """#)
            // Each has its own name in the export, and a backup after a change works.
            #expect(
                try sandbox.sh("jq -r '.photos[].path' $M/snapshots/a/export.json")
                    == "caf\u{FFFD}E8.jpg\ncaf\u{FFFD}E9.jpg\nd\u{FFFD}FF/x.jpg\nok.jpg")
            try sandbox.sh(
                "printf more > $R/lib/more.jpg; mkdir $M/snapshots/b; rm $R/lib/more.jpg; backupfs verify a --store $S")
            let describe = "cd $R/lib; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum -z | tr '\\0' '\\n' | od -c"
            let before = try sandbox.sh(describe)
            for way in [
                "cp $M/snapshots/a/archive.zip $M/restore/", "cp $M/snapshots/a/archive.tar $M/restore/",
                "cat $M/snapshots/a/archive.zip > $M/restore/b.zip", "backupfs restore a --yes --store $S",
            ] {
                try sandbox.sh("rm -r $R/lib/*; printf other > $R/lib/$'n\\xe9.jpg'")
                try sandbox.sh(way)
                #expect(try sandbox.sh(describe) == before, "\(way)")
                // The state before the restore is only in the safety backup.
                try sandbox.sh("cp \"$M/safety/$(ls -t $M/safety | head -1)\" $M/restore/")
                #expect(try sandbox.sh("cd $R/lib; ls -b") == "n\\351.jpg", "\(way)")
            }
            try sandbox.unmount()
        }
    }
}
