import Foundation
import Glibc
import TestSupport
import Testing

@testable import Operations

/// What a restore replaces is in the safety backup, whatever happens meanwhile; or nothing is replaced.
struct RestoreSafetyTests {
    /// Runs a restore that pauses at a fault point while `meanwhile` runs.
    private static func restoring(
        _ sandbox: Sandbox, _ source: String, at point: String, meanwhile: String, before: String = "", after: String = ""
    ) throws -> Job.Result {
        try sandbox.run(
            """
            \(before)
            touch $R/pause; BACKUPFS_FAULT=\(point)=pause:$R/pause backupfs restore \(source) --yes --store $S >$R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore
            \(meanwhile)
            rm $R/pause; wait $restore; status=$?
            \(after)
            wait; cat $R/told; exit $status
            """)
    }

    /// A diary with the backup `one`, and the same data as an export and as a database file.
    private static func makeSandboxWithSources() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; backupfs export one --json -o $R/one.json --store $S
            sqlite3 $S/app/database.sqlite ".backup $R/one.sqlite"
            """)
        return sandbox
    }

    /// A user who may not read the files: root can read everything.
    @Test func `R-A4: a media file that cannot be read refuses the restore, and nothing is changed`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        // Not even root can read a named pipe as a file.
        try sandbox.sh(
            """
            backupfs backup --label one --store $S; printf mine > $S/app/photos/mine.jpg
            mkfifo $S/app/photos/odd
            """)
        let old = try sandbox.sh(PhotoDiary.describe)
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode == 1, "\(result)")
        #expect(result.errors.contains("1 media file cannot be read, so it would not be in the safety backup"), "\(result)")
        #expect(result.errors.contains("odd: is neither a file nor a folder nor a link"))
        #expect(try sandbox.sh(PhotoDiary.describe) == old)
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
        #expect(try sandbox.sh("ls $S/repository/snapshots | wc -l") == "1")
        // A restore that leaves the media alone may run, and reports what its safety backup lacks.
        try sandbox.sh(
            "backupfs export one --json -o $R/one.json --store $S; backupfs restore $R/one.json --yes --store $S >$R/told")
        #expect(try sandbox.sh("grep -c 'The safety backup is not whole' $R/told") == "1")
        try sandbox.sh("rm $S/app/photos/odd; backupfs restore one --yes --store $S")
    }

    @Test(arguments: ["one", "$R/one.json", "$R/one.sqlite"])
    func `R-A3: a record that the app commits after the safety backup is in another one`(source: String) throws {
        let sandbox = try Self.makeSandboxWithSources()
        let result = try Self.restoring(
            sandbox, source, at: "restore.safety-made",
            meanwhile: "sqlite3 $S/app/database.sqlite \"insert into photos values (77, 'late.jpg', 'late')\"")
        #expect(result.exitCode == 0, "\(result)")
        #expect(
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos where id = 77'; ls $S/app")
                == "0\ndatabase.sqlite\nphotos")
        #expect(try Self.safetyBackups(sandbox, holding: "late.jpg") == 1)
    }

    @Test(arguments: ["wal", "delete"])
    func `R-A3: a whole database that changes before it is replaced is saved again`(mode: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "pragma journal_mode = \(mode); create table t(id integer primary key, a text); insert into t values (1, 'x')"
            backupfs init --store $S --database $R/a.db; backupfs backup --label one --store $S
            """)
        let result = try Self.restoring(
            sandbox, "one", at: "restore.safety-made", meanwhile: "sqlite3 $R/a.db \"insert into t values (77, 'late')\"")
        #expect(result.exitCode == 0, "\(result)")
        #expect(
            try sandbox.sh("sqlite3 $R/a.db 'select id from t'; sqlite3 $R/a.db 'pragma journal_mode'; ls $R | grep a.db")
                == "1\n\(mode)\na.db")
        #expect(try Self.safetyBackups(sandbox, holding: "late") == 1)
    }

    /// The page size of a database in WAL mode cannot change: it leaves WAL mode for that moment.
    @Test func `R-A3: a database with a log and pages of another size is replaced, and has its log afterwards`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "pragma page_size = 4096; pragma journal_mode = wal; create table t(a); insert into t values (1)"
            sqlite3 $R/b.db "pragma page_size = 8192; create table t(a); insert into t values (2)"
            backupfs init --store $S --database $R/a.db
            """)
        let result = try Self.restoring(
            sandbox, "$R/b.db", at: "restore.safety-made", meanwhile: "sqlite3 $R/a.db \"insert into t values ('late')\"")
        #expect(result.exitCode == 0, "\(result)")
        #expect(
            try sandbox.sh("sqlite3 $R/a.db 'select a from t; pragma page_size; pragma journal_mode'; ls $R | grep a.db")
                == "2\n8192\nwal\na.db")
        #expect(try Self.safetyBackups(sandbox, holding: "late") == 1)
    }

    /// An app that opens, commits and closes all the time, also while the restore makes its safety backups.
    @Test func `R-A3: what an app commits during the second safety backup is in one of them, or nothing is replaced`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/a.db "pragma page_size = 4096; pragma journal_mode = wal; create table t(a); insert into t values ('first')"
            sqlite3 $R/b.db "pragma page_size = 8192; create table t(a); insert into t values ('other')"
            backupfs init --store $S --database $R/a.db; backupfs backup --label one --store $S
            cat >$R/write.py <<'END'
            import os, sqlite3, sys
            n = 0
            while not os.path.exists(sys.argv[2]):
                try:
                    c = sqlite3.connect(sys.argv[1], timeout=0.2)
                    c.execute("insert into t values (?)", (f"row-{sys.argv[3]}-{n}-",)); c.commit()
                    print(f"row-{sys.argv[3]}-{n}-", flush=True); n += 1
                except sqlite3.OperationalError: pass
                finally: c.close()
            END
            """)
        for round in 1...4 {
            try sandbox.sh(
                """
                rm -f $R/stop $R/acknowledged; python3 $R/write.py $R/a.db $R/stop \(round) >$R/acknowledged & writer=$!
                wait_until [ -s $R/acknowledged ]
                status=0; backupfs restore $R/b.db --yes --store $S >$R/output 2>&1 || status=$?
                touch $R/stop; wait $writer; echo $status >$R/status
                """)
            // Done, or refused because the app uses its database.
            let output = try sandbox.sh("cat $R/output")
            #expect(try ["0", "13"].contains(sandbox.sh("cat $R/status")), "\(output)")
            let kept = try Self.exportsOfSafetyBackups(sandbox).joined() + sandbox.sh("sqlite3 $R/a.db 'select a from t'")
            let acknowledged = try sandbox.sh("cat $R/acknowledged").split(separator: "\n")
            #expect(!acknowledged.isEmpty)
            #expect(acknowledged.filter { !kept.contains($0) }.isEmpty, "round \(round)")
            try sandbox.sh(
                "rm -f $R/a.db*; sqlite3 $R/a.db 'pragma page_size = 4096; pragma journal_mode = wal; create table t(a)'")
        }
    }

    @Test(arguments: ["one", "$R/one.json", "$R/one.sqlite"])
    func `a database file that another program replaces meanwhile refuses the restore`(source: String) throws {
        let sandbox = try Self.makeSandboxWithSources()
        let result = try Self.restoring(
            sandbox, source, at: "restore.safety-made",
            meanwhile: """
                cd $S/app; sqlite3 database.sqlite ".backup new"; sqlite3 new "insert into photos values (77, 'late.jpg', 'late')"
                mv new database.sqlite; cd /
                """)
        #expect(result.exitCode == 13 && result.output.contains("another program replaced the database's file"), "\(result)")
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from photos where id = 77'") == "1")
    }

    /// The number of safety backups whose export contains a text.
    private static func safetyBackups(_ sandbox: Sandbox, holding text: String) throws -> Int {
        try exportsOfSafetyBackups(sandbox).count { $0.contains(text) }
    }

    private static func exportsOfSafetyBackups(_ sandbox: Sandbox) throws -> [String] {
        let store = try Store.open(sandbox.storePath)
        return try store.ownSnapshots(kind: .safety).map { snapshot in
            let entry = try #require(try store.repository.rootDirectory(of: snapshot).entry(named: "export.json"))
            return String(decoding: try store.repository.bytes(of: entry.content, limitBytes: 1 << 24), as: UTF8.self)
        }
    }

    @Test func `R-A3: the second safety backup holds what came after the first`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label one --store $S")
        _ = try Self.restoring(
            sandbox, "one", at: "restore.media-staged",
            meanwhile: "sqlite3 $S/app/database.sqlite \"insert into photos values (77, 'late.jpg', 'so late')\"")
        #expect(try Self.safetyBackups(sandbox, holding: "so late") == 1)
        #expect(try Store.open(sandbox.storePath).ownSnapshots(kind: .safety).count == 2)
    }

    @Test func `R-A3: a photo that comes after the safety backup, or is changed, is kept and named`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label one --store $S")
        let result = try Self.restoring(
            sandbox, "one", at: "restore.safety-made",
            meanwhile: "printf late > $S/app/photos/2024/late.jpg; printf changed > $S/app/photos/one.jpg")
        #expect(result.exitCode == 0, "\(result)")
        #expect(try sandbox.sh("cd $S/app/photos; cat one.jpg; ls 2024 | tr '\\n' ' '") == "onesummer two.jpg ")
        let kept = try sandbox.sh("jq -r .keptMedia $S/restore/last.json")
        #expect(kept.hasPrefix("\(sandbox.storePath)/app/photos-kept-"))
        #expect(
            result.output.contains(
                "Media files that came or changed after the safety backup, or that cannot be removed, were kept in \(kept)"))
        #expect(
            try sandbox.sh("cd \(kept); find . -type f | sort | tr '\\n' ' '; cat 2024/late.jpg one.jpg")
                == "./2024/late.jpg ./one.jpg latechanged")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test(arguments: ["restore.committed", "restore.media-emptied", "restore.file-brought-in", "restore.media-published"])
    func `R-A3: a recovery keeps and names such a photo too`(point: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs backup --label one --store $S")
        _ = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=restore.safety-made=pause:$R/pause backupfs restore one --yes --store $S & restore=$!
            wait_paused $R/pause $restore
            kill -9 $restore; wait $restore; BACKUPFS_FAULT=\(point) backupfs restore one --yes --store $S
            printf late > $S/app/photos/late.jpg
            """)
        try sandbox.sh("backupfs status --store $S")
        #expect(try sandbox.sh("jq -r .result $S/restore/last.json") == "completed")
        // Either it stayed, since everything was exchanged by then, or it was moved out and kept.
        #expect(try sandbox.sh("cat $S/app/photos/late.jpg $S/app/photos-kept-*/late.jpg 2>/dev/null || true") == "late")
        #expect(try sandbox.sh(PhotoDiary.leftovers) == "")
    }

    @Test(arguments: ["printf $1 > $2", "printf $1 > $2.new; mv $2.new $2"])
    func `a photo that is replaced by one of equal size and time is kept`(change: String) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("ln -s one.jpg $S/app/photos/link; backupfs backup --label one --store $S")
        let result = try Self.restoring(
            sandbox, "one", at: "restore.safety-made",
            meanwhile: """
                change() { \(change); }
                cd $S/app/photos
                for pair in ONE:one.jpg TWO:2024/two.jpg; do
                    cp -p ${pair#*:} $R/time; change ${pair%:*} ${pair#*:}; touch -r $R/time ${pair#*:}
                done
                time=$(stat -c %y link); ln -sfn two.jpg link; touch -h -d "$time" link
                """)
        #expect(result.exitCode == 0, "\(result)")
        let kept = try sandbox.sh("jq -r .keptMedia $S/restore/last.json")
        #expect(
            try sandbox.sh("cd \(kept); find . ! -type d | sort | tr '\\n' ' '; cat one.jpg 2024/two.jpg; readlink link")
                == "./2024/two.jpg ./link ./one.jpg ONETWOtwo.jpg")
        #expect(try sandbox.sh("cd $S/app/photos; cat one.jpg 2024/two.jpg; readlink link") == "onetwoone.jpg")
    }

    /// An app that keeps running may also write to its database after the restore.
    @Test(arguments: [true, false])
    func `a database is kept with its log when only the log has changed since the safety backup`(staysOpen: Bool) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.write(
            """
            import os, sqlite3, sys, time
            path, note = sys.argv[1:3]
            c = sqlite3.connect(path, isolation_level=None)
            c.execute("pragma journal_mode = wal"); c.execute("pragma wal_autocheckpoint = 0"); c.execute("create table if not exists t(a)")
            for step in sys.argv[3:]:
                c.execute("insert into t values (?)", (step,))
                if step == "early": c.execute("pragma wal_checkpoint")
                open(note + step, "w").close()
                any(not os.path.exists(note + step) or time.sleep(0.01) for _ in range(12_000))
            os._exit(0)
            """, to: "app.py")
        let start = "wait_until [ -e $R/go-early ]"
        let late = "rm $R/go-early; wait_until [ -e $R/go-late ]"
        let app = "python3 $R/app.py $S/app/photos/x.db $R/go-"
        try sandbox.sh("\(app) early & \(start); rm $R/go-early; wait; backupfs backup --label one --store $S")
        let result = try Self.restoring(
            sandbox, "one", at: "restore.safety-made",
            meanwhile: staysOpen
                ? late : "\(app) late & app=$!; wait_until [ -e $R/go-late ]; rm $R/go-late; wait $app",
            before: staysOpen ? "\(app) early late & \(start)" : "", after: staysOpen ? "rm $R/go-late" : "")
        #expect(result.exitCode == 0, "\(result)")
        let kept = try sandbox.sh("jq -r .keptMedia $S/restore/last.json")
        let rows = staysOpen ? "early\nearly\nlate" : "early\nlate"
        #expect(try sandbox.sh("cd \(kept); ls -A | grep -v shm; sqlite3 x.db 'select a from t'") == "x.db\nx.db-wal\n\(rows)")
        #expect(try sandbox.sh("sqlite3 $S/app/photos/x.db 'select a from t'") == "early")
    }
}
