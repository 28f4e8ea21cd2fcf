import TestSupport
import Testing

@testable import Operations

/// SQLite databases among the media of which an app has one open while a restore replaces it: a restored database never meets a log of another one.
struct DatabaseInMediaRestoreTests {
    /// A note book of 400 rows in `notes.db` among the photos, which is backed up and then changed in most of its pages.
    private static func prepare() throws -> Room {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh(
            """
            cd $S/app/photos; sqlite3 notes.db "pragma journal_mode = wal; create table n(id integer primary key, a text)" >/dev/null
            sqlite3 notes.db "with recursive r(i) as (values (1) union all select i + 1 from r where i < 400) insert into n select i, hex(randomblob(60)) from r"
            backupfs backup --label one --store $S
            sqlite3 notes.db "delete from n where id % 3 > 0; update n set a = hex(randomblob(300)); create table more(b)"
            """)
        return room
    }

    /// The app opens `notes.db`, commits and keeps it open while the restore waits at a fault point.
    private static func restoring(_ room: Room, at point: String) throws -> Room.Result {
        try room.run(
            """
            touch $R/pause; BACKUPFS_FAULT=\(point)=pause:$R/pause backupfs restore one --yes --store $S >$R/told 2>&1 & restore=$!
            for i in $(seq 600); do [ -e $R/pause.reached ] && break; sleep 0.05; done
            mkfifo $R/in; sqlite3 $S/app/photos/notes.db < $R/in >/dev/null 2>&1 & app=$!; exec 3> $R/in
            echo "insert into n values (7777, 'late');" >&3
            for i in $(seq 600); do [ -s $S/app/photos/notes.db-wal ] && break; sleep 0.05; done
            rm $R/pause; wait $restore; echo "exit $?"
            ls $S/app/photos | grep notes; cp $S/app/photos/notes.db* $R/; sqlite3 $R/notes.db 'pragma integrity_check; select count(*), max(id) from n'
            exec 3>&-; wait $app; cat $R/told >&2
            """)
    }

    @Test(arguments: [
        "restore.safety-made", "restore.committed", "restore.media-emptied", "restore.file-brought-in",
    ])
    func `R-A3: a log that an app makes while its database is replaced stays with the replaced one`(point: String) throws {
        let room = try Self.prepare()
        let result = try Self.restoring(room, at: point)
        #expect(result.output == "exit 0\nnotes.db\nok\n400|400\n", "\(result)")
        // What the app has committed is kept, and can be read.
        #expect(
            try room.sh(
                "cd $(jq -r .keptMedia $S/restore/last.json); ls | grep -v shm; sqlite3 notes.db 'select count(*) from n where a = \"late\"'"
            )
                == "notes.db\nnotes.db-wal\n1")
    }

    @Test func `R-A3: an app that has the restored database open by then keeps its log`() throws {
        let room = try Self.prepare()
        let result = try Self.restoring(room, at: "restore.file-brought-in:3")
        #expect(
            result.output == "exit 0\nnotes.db\nnotes.db-shm\nnotes.db-wal\nok\n401|7777\n", "\(result)")
        #expect(try room.sh("jq -r .keptMedia $S/restore/last.json; ls $S/app") == "null\ndatabase.sqlite\nphotos")
    }

    @Test func `R-A3: a recovery does so too`() throws {
        let room = try Self.prepare()
        let result = try room.run(
            """
            BACKUPFS_FAULT=restore.media-emptied backupfs restore one --yes --store $S >/dev/null 2>&1
            mkfifo $R/in; sqlite3 $S/app/photos/notes.db < $R/in >/dev/null 2>&1 & app=$!; exec 3> $R/in
            echo "insert into n values (7777, 'late');" >&3
            for i in $(seq 600); do [ -s $S/app/photos/notes.db-wal ] && break; sleep 0.05; done
            backupfs status --store $S >/dev/null; echo "exit $?"; jq -r .result $S/restore/last.json
            ls $S/app/photos | grep notes; cp $S/app/photos/notes.db* $R/; sqlite3 $R/notes.db 'pragma integrity_check; select count(*), max(id) from n'
            exec 3>&-; wait $app
            """)
        #expect(result.output == "exit 0\ncompleted\nnotes.db\nok\n400|400\n", "\(result)")
    }
}
