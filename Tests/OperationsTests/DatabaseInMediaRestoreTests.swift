import TestSupport
import Testing

@testable import Operations

/// SQLite databases among the media, one of them open in an app while a restore replaces it: a restored database never meets the
/// log of another one.
struct DatabaseInMediaRestoreTests {
    /// A note book of 400 rows in `notes.db` among the photos, backed up and then changed in most of its pages.
    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            cd $S/app/photos; sqlite3 notes.db "pragma journal_mode = wal; create table n(id integer primary key, a text)" >/dev/null
            sqlite3 notes.db "with recursive r(i) as (values (1) union all select i + 1 from r where i < 400) insert into n select i, hex(randomblob(60)) from r"
            backupfs backup --label one --store $S
            sqlite3 notes.db "delete from n where id % 3 > 0; update n set a = hex(randomblob(300)); create table more(b)"
            """)
        return sandbox
    }

    /// The app opens `notes.db`, commits and keeps it open while the restore waits at a fault point.
    private static func restoring(_ sandbox: Sandbox, at point: String) throws -> Job.Result {
        try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=\(point)=pause:$R/pause backupfs restore one --yes --store $S >$R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore
            mkfifo $R/in; sqlite3 $S/app/photos/notes.db < $R/in >/dev/null 2>&1 & app=$!; exec 3> $R/in
            echo "insert into n values (7777, 'late');" >&3
            wait_until [ -s $S/app/photos/notes.db-wal ]
            rm $R/pause; wait $restore; echo "exit $?"
            ls $S/app/photos | grep notes; cp $S/app/photos/notes.db* $R/; sqlite3 $R/notes.db 'pragma integrity_check; select count(*), max(id) from n'
            exec 3>&-; wait $app; cat $R/told >&2
            """)
    }

    @Test(arguments: [
        "restore.safety-made", "restore.committed", "restore.media-emptied", "restore.file-brought-in",
    ])
    func `R-A3: a log that an app makes while its database is replaced stays with the replaced one`(point: String) throws {
        let sandbox = try Self.prepare()
        let result = try Self.restoring(sandbox, at: point)
        #expect(result.output == "exit 0\nnotes.db\nok\n400|400\n", "\(result)")
        // The app's commit is kept, and is readable.
        #expect(
            try sandbox.sh(
                "cd $(jq -r .keptMedia $S/restore/last.json); ls | grep -v shm; sqlite3 notes.db 'select count(*) from n where a = \"late\"'"
            )
                == "notes.db\nnotes.db-wal\n1")
    }

    @Test func `R-A3: an app that has the restored database open by then keeps its log`() throws {
        let sandbox = try Self.prepare()
        let result = try Self.restoring(sandbox, at: "restore.file-brought-in:3")
        #expect(
            result.output == "exit 0\nnotes.db\nnotes.db-shm\nnotes.db-wal\nok\n401|7777\n", "\(result)")
        #expect(try sandbox.sh("jq -r .keptMedia $S/restore/last.json; ls $S/app") == "null\ndatabase.sqlite\nphotos")
    }

    @Test func `R-A3: a recovery does so too`() throws {
        let sandbox = try Self.prepare()
        let result = try sandbox.run(
            """
            BACKUPFS_FAULT=restore.media-emptied backupfs restore one --yes --store $S >/dev/null 2>&1
            mkfifo $R/in; sqlite3 $S/app/photos/notes.db < $R/in >/dev/null 2>&1 & app=$!; exec 3> $R/in
            echo "insert into n values (7777, 'late');" >&3
            wait_until [ -s $S/app/photos/notes.db-wal ]
            backupfs status --store $S >/dev/null; echo "exit $?"; jq -r .result $S/restore/last.json
            ls $S/app/photos | grep notes; cp $S/app/photos/notes.db* $R/; sqlite3 $R/notes.db 'pragma integrity_check; select count(*), max(id) from n'
            exec 3>&-; wait $app
            """)
        #expect(result.output == "exit 0\ncompleted\nnotes.db\nok\n400|400\n", "\(result)")
    }

    /// A diary with a database of 200 rows, and 200 more in an idle log, backed up and then replaced by another one.
    private static func prepareLog() throws -> Sandbox {
        let sandbox = try Sandbox()
        // A merge needs the identity of the photos.
        try sandbox.write(PhotoDiary.definition(identity: "file"), to: "diary.yaml")
        try sandbox.write(
            """
            import os, sqlite3
            c = sqlite3.connect("x.db", isolation_level=None); c.execute("pragma journal_mode = wal")
            c.execute("create table n(id integer primary key, a text)")
            def fill(first): c.execute("with recursive r(i) as (values (?) union all select i + 1 from r where i < ?) insert into n select i, hex(randomblob(300)) from r", (first, first + 199))
            fill(1); c.execute("pragma wal_checkpoint(truncate)"); c.execute("pragma wal_autocheckpoint = 0"); fill(201)
            c.execute("delete from n where id % 7 = 0"); os._exit(0)
            """, to: "fill.py")
        try sandbox.sh(
            """
            backupfs init --store $S --app $R/diary.yaml; \(PhotoDiary.fill)
            cd $S/app/photos; python3 $R/fill.py; backupfs backup --label one --store $S; cp x.db-wal $R/log
            rm x.db*; sqlite3 x.db "create table other(a); insert into other values ('mine')"
            """)
        return sandbox
    }

    private static let look =
        "mkdir $R/look; cp $S/app/photos/x.db* $R/look; sqlite3 $R/look/x.db 'pragma integrity_check; select count(*), max(id) from n'"
    /// A commit to the database only, by a program that closes it when it ends.
    private static let write =
        "sqlite3 $S/app/photos/x.db \"with recursive r(i) as (values (1) union all select i + 1 from r where i < 3000) insert into n(a) select hex(randomblob(200)) from r\""

    @Test func `a log does not come to its database when an app has written to that after a crash`() throws {
        let sandbox = try Self.prepareLog()
        let result = try sandbox.run(
            """
            BACKUPFS_FAULT=restore.file-brought-in:4 backupfs restore one --yes --store $S >/dev/null 2>&1
            ls $S/app/photos | grep x.db; \(Self.write); backupfs status --store $S >/dev/null; jq -r .result $S/restore/last.json; \(Self.look)
            cmp $(jq -r .keptMedia $S/restore/last.json)/separated-logs/x.db-wal $R/log && echo kept
            grep -c 'The log was not put beside it' $S/restore/last.txt; backupfs backup --store $S >/dev/null; echo "exit $?"
            """)
        #expect(result.output == "x.db\ncompleted\nok\n3200|3200\nkept\n1\nexit 0\n", "\(result)")
    }

    @Test(arguments: [3, 4, 5]) func `after a crash that no user repairs a log comes to its database`(number: Int) throws {
        let sandbox = try Self.prepareLog()
        let result = try sandbox.run(
            """
            BACKUPFS_FAULT=restore.file-brought-in:\(number) backupfs restore one --yes --store $S >/dev/null 2>&1
            backupfs status --store $S >/dev/null; jq -r '.result, .keptMedia' $S/restore/last.json; cmp $S/app/photos/x.db-wal $R/log && echo same
            \(Self.look); ls -I "*.sqlite-*" $S/app
            """)
        #expect(result.output == "completed\nnull\nsame\nok\n343|400\ndatabase.sqlite\nphotos\n", "\(result)")
    }

    @Test func `after a crash a log does not come to a database that an app has open`() throws {
        let sandbox = try Self.prepareLog()
        let result = try sandbox.run(
            """
            BACKUPFS_FAULT=restore.file-brought-in:4 backupfs restore one --yes --store $S >/dev/null 2>&1
            mkfifo $R/in; sqlite3 $S/app/photos/x.db < $R/in >/dev/null 2>&1 & app=$!; exec 3> $R/in
            printf "insert into n values (7777, 'late');\\n.shell touch $R/written\\n" >&3
            wait_until [ -e $R/written ]
            backupfs status --store $S >/dev/null; echo "insert into n values (7778, 'later');" >&3; exec 3>&-; wait $app
            \(Self.look); cmp $(jq -r .keptMedia $S/restore/last.json)/separated-logs/x.db-wal $R/log && echo kept
            """)
        #expect(result.output == "ok\n202|7778\nkept\n", "\(result)")
    }

    @Test func `no reader reaches a database until its log is there`() throws {
        let sandbox = try Self.prepareLog()
        let result = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.file-brought-in:4=pause:$R/pause backupfs restore one --yes --store $S >/dev/null 2>&1 & restore=$!
            wait_paused $R/pause $restore
            \(Self.write) 2>&1 | grep -o 'database is locked'; rm $R/pause; wait $restore; echo "exit $?"; \(Self.look)
            """)
        #expect(result.output == "database is locked\nexit 0\nok\n343|400\n", "\(result)")
    }

    /// The media that are lost come back with the records.
    @Test func `an undo puts no log beside a database that an app has changed after a crash`() throws {
        let sandbox = try Self.prepareLog()
        let result = try sandbox.run(
            """
            cd $S/app/photos; rm x.db; python3 $R/fill.py; cp x.db-wal $R/own; rm x.db-shm; sqlite3 ../database.sqlite 'pragma wal_checkpoint(truncate)' >/dev/null
            cp ../database.sqlite $R/old.sqlite
            BACKUPFS_FAULT=restore.media-emptied backupfs restore one --yes --store $S >/dev/null 2>&1
            mv x.db-wal ../.backupfs-staging-*/old/; sleep 0.05; \(Self.write)
            rm -f ../database.sqlite-*; cp $R/old.sqlite ../database.sqlite; backupfs status --store $S >/dev/null; jq -r .result $S/restore/last.json
            \(Self.look); cmp $(jq -r .keptMedia $S/restore/last.json)/separated-logs/x.db-wal $R/own && echo kept
            """)
        #expect(result.output == "undone\nok\n3200|3200\nkept\n", "\(result)")
    }

    @Test func `the files of a merge come so, too`() throws {
        let sandbox = try Self.prepareLog()
        let result = try sandbox.run(
            """
            rm $S/app/photos/x.db*; BACKUPFS_FAULT=restore.file-published:2 backupfs restore one --strategy merge --yes --store $S >/dev/null 2>&1
            ls $S/app/photos | grep x.db; \(Self.write); backupfs status --store $S >/dev/null; jq -r .result $S/restore/last.json; \(Self.look)
            cmp $(jq -r .keptMedia $S/restore/last.json)/separated-logs/x.db-wal $R/log && echo kept
            """)
        #expect(result.output == "x.db\ncompleted\nok\n3200|3200\nkept\n", "\(result)")
    }
}
