import TestSupport
import Testing

/// A restore of a lost database harms nothing that gets in its way: what the app creates meanwhile, and logs that it left.
@Suite(.rotating(oneIn: 3)) struct LostDatabaseSafetyTests {
    /// A store whose app's database is `$R/data/ev.db`, with the backup `one`, and `$R/new.db` as the app would create it.
    private static func prepare() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/data; backupfs init --store $R/tmp --sample >/dev/null; cp $R/tmp/app/database.sqlite $R/data/ev.db; rm -r $R/tmp
            cp $R/data/ev.db $R/new.db; sqlite3 $R/new.db "delete from expenses; update cars set name = 'of the app'; pragma journal_mode = delete" >/dev/null
            backupfs init --store $S --database $R/data/ev.db --repository $R/repo >/dev/null; backupfs backup --label one --store $S >/dev/null 2>&1
            """)
        return sandbox
    }

    private static let dump = "sqlite3 -readonly $R/data/ev.db .dump"
    private static let newDump = "sqlite3 -readonly $R/new.db .dump"
    private static let loss = ["rm $R/data/ev.db*", "rm $R/data/ev.db*; : > $R/data/ev.db"]

    /// The app creates its database in its own way: as a whole file, or through SQLite.
    private static let appMakesIt =
        "if [ -e $R/data/ev.db ]; then sqlite3 $R/data/ev.db \".restore $R/new.db\"; else cp $R/new.db $R/data/ev.db; fi"

    @Test(arguments: loss)
    func `what the app makes while before-restore runs is kept`(loss: String) throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(
            """
            echo '\(Self.appMakesIt)' > $R/hook
            backupfs config set before-restore "R=$R bash $R/hook" --store $S >/dev/null; \(loss)
            """)
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode != 0 && result.errors.contains("another program has made the database"), "\(result)")
        #expect(try sandbox.sh(Self.dump) == sandbox.sh(Self.newDump))
        try sandbox.sh(
            """
            backupfs config unset before-restore --store $S >/dev/null
            backupfs restore one --yes --store $S >/dev/null; backupfs undo --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh("sqlite3 -readonly $R/data/ev.db 'select distinct name from cars'") == "of the app")
    }

    @Test(arguments: loss)
    func `what the app makes right before the database gets its name is kept`(loss: String) throws {
        let sandbox = try Self.prepare()
        let result = try sandbox.run(
            """
            \(loss); touch $R/wait; BACKUPFS_FAULT=lost.database-copied=pause:$R/wait backupfs restore one --yes --store $S & restore=$!
            wait_paused $R/wait $restore
            \(Self.appMakesIt); rm $R/wait; wait $restore
            """)
        #expect(result.exitCode != 0 && result.errors.contains("another program has made the database"), "\(result)")
        #expect(try sandbox.sh("ls $R/wait.reached >/dev/null; \(Self.dump)") == sandbox.sh(Self.newDump))
        #expect(try sandbox.sh("ls -A $R/data | grep backupfs || true") == "")
    }

    /// The app keeps running after the file of its database was removed: it makes one commit when `$R/go` appears.
    private static let app = """
        import os, sqlite3, sys, time
        app = sqlite3.connect(sys.argv[1], isolation_level=None)
        app.execute('pragma journal_mode = wal'); app.execute('delete from expenses'); app.execute('vacuum')
        app.execute('create table scratch(a, b)')
        for i in range(400): app.execute('insert into scratch values(?, ?)', (i, 'x' * 500))
        app.execute('pragma wal_checkpoint(truncate)')
        open(sys.argv[2] + '/ready', 'w').close()
        any(os.path.exists(sys.argv[2] + '/go') or time.sleep(0.01) for _ in range(12_000))
        app.execute("update scratch set b = 'y' || b")
        os._exit(0)
        """

    @Test(arguments: ["", "; : > $R/data/ev.db"])
    func `the log of a running app does not come beside the restored database`(loss: String) throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        try sandbox.write(Self.app, to: "app.py")
        let result = try sandbox.run(
            """
            python3 $R/app.py $R/data/ev.db $R & app=$!
            wait_until "[ -e $R/ready ] || ! kill -0 $app"
            rm $R/data/ev.db\(loss); stat -c '%n %s' $R/data/ev.db-*; backupfs restore one --yes --store $S; status=$?
            touch $R/go; wait $app; exit $status
            """)
        #expect(result.output.contains("ev.db-wal 0") && result.output.contains("ev.db-shm 32768"), "\(result)")
        #expect(result.exitCode != 0 && result.errors.contains("Stop the app first"), "\(result)")
        // Its log now holds data that no backup has.
        let second = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(second.exitCode != 0 && second.errors.contains("move"), "\(second)")
        try sandbox.sh("rm $R/data/ev.db-wal; backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test(arguments: loss)
    func `empty logs that no process uses are no hindrance, and are cleared away`(loss: String) throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("\(loss); : > $R/data/ev.db-wal; head -c 32768 /dev/zero > $R/data/ev.db-shm; : > $R/data/ev.db-journal")
        try sandbox.sh("backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh("ls -A $R/data | grep -v -x -e ev.db -e ev.db-wal -e ev.db-shm || true") == "")
    }

    @Test func `a whole database is not put beside the log of a running app either`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/data; sqlite3 $R/data/ev.db "create table expenses(a, b); insert into expenses values (1, 'one')"
            backupfs init --store $S --database $R/data/ev.db >/dev/null; backupfs backup --label one --store $S >/dev/null 2>&1
            """)
        let before = try sandbox.sh(Self.dump)
        try sandbox.write(Self.app, to: "app.py")
        let result = try sandbox.run(
            """
            python3 $R/app.py $R/data/ev.db $R & app=$!
            wait_until "[ -e $R/ready ] || ! kill -0 $app"
            rm $R/data/ev.db; backupfs restore one --yes --store $S; status=$?
            touch $R/go; wait $app; exit $status
            """)
        #expect(result.exitCode != 0 && result.errors.contains("Stop the app first"), "\(result)")
        try sandbox.sh("rm $R/data/ev.db-wal; backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    /// SQLite deletes the log beside an empty database when it opens the database.
    @Test(arguments: ["-wal", "-journal"])
    func `the log beside an empty database is kept by each command`(suffix: String) throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(
            """
            rm $R/data/ev.db*; : > $R/data/ev.db; head -c 5000 /dev/urandom > $R/data/ev.db\(suffix); sha256sum $R/data/ev.db* > $R/sums
            """)
        for command in [
            "status", "snapshots", "backup --label two", "restore one --dry-run", "restore one --yes", "diff one", "check",
            "export --output $R/e.json",
        ] {
            let result = try sandbox.run("backupfs \(command) --store $S")
            #expect(
                try sandbox.sh("sha256sum --quiet -c $R/sums && ls $R/data") == "ev.db\nev.db\(suffix)", "\(command): \(result)")
        }
        let refused = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(refused.exitCode != 0, "\(refused)")
        #expect(refused.errors.contains("ev.db\(suffix)"), "\(refused)")
        #expect(refused.errors.contains("move the log to a safe place"), "\(refused)")
        let status = try sandbox.run("backupfs status --store $S")
        #expect(status.output.contains("is an empty file, and a log with data is beside it"), "\(status)")
        #expect(try sandbox.sh("backupfs snapshots --store $S").contains("one"))
        try sandbox.sh("mv $R/data/ev.db\(suffix) $R/safe; backupfs restore one --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 -readonly $R/data/ev.db 'pragma integrity_check'") == "ok")
    }

    /// Holds the empty log of the lost database open, and writes to it when `$R/go` appears.
    private static let oldApp = """
        import os, sys, time
        log = open(sys.argv[1] + '-wal', 'r+b')
        open(sys.argv[2] + '/ready', 'w').close()
        any(os.path.exists(sys.argv[2] + '/go') or time.sleep(0.01) for _ in range(12_000))
        log.write(b'of the lost database' * 300); log.flush()
        open(sys.argv[2] + '/written', 'w').close()
        """

    /// - Parameter mode: the journal mode of the database that another program creates meanwhile: with or without its own log.
    @Test(arguments: ["delete", "wal"])
    func `a log that gets data while it is aside is kept, and not put beside the app's new database`(mode: String) throws {
        let sandbox = try Self.prepare()
        try sandbox.write(Self.oldApp, to: "old.py")
        try sandbox.write(
            """
            import os, sqlite3, sys
            app = sqlite3.connect(sys.argv[1], isolation_level=None)
            app.execute('pragma journal_mode = \(mode)')
            app.execute('create table made(x)'); app.execute('insert into made values (7)')
            os._exit(0)
            """, to: "new.py")
        try sandbox.sh("rm $R/data/ev.db*; : > $R/data/ev.db-wal")
        let result = try sandbox.run(
            """
            python3 $R/old.py $R/data/ev.db $R & old=$!
            wait_until "[ -e $R/ready ] || ! kill -0 $old"
            touch $R/wait; BACKUPFS_FAULT=lost.logs-aside=pause:$R/wait backupfs restore one --yes --store $S & restore=$!
            wait_paused $R/wait $restore
            touch $R/go; wait $old; python3 $R/new.py $R/data/ev.db; cp -a $R/data/ev.db-wal $R/own 2>/dev/null
            rm $R/wait; wait $restore
            """)
        #expect(result.exitCode != 0 && result.errors.contains("another program has made the database"), "\(result)")
        #expect(result.errors.contains("The log ev.db-wal of the lost database is .backupfs-staging-"), "\(result)")
        #expect(try sandbox.sh("cat $R/data/.backupfs-staging-*") == String(repeating: "of the lost database", count: 300))
        let logs = try sandbox.sh("if [ -e $R/own ]; then cmp $R/own $R/data/ev.db-wal; else ls $R/data; fi")
        #expect(logs == (mode == "wal" ? "" : "ev.db"))
        #expect(try sandbox.sh("sqlite3 $R/data/ev.db 'select x from made; pragma integrity_check'") == "7\nok")
    }

    @Test func `a log that gets data while it is aside has its name again after another error`() throws {
        let sandbox = try Self.prepare()
        try sandbox.write(Self.oldApp, to: "old.py")
        try sandbox.sh("rm $R/data/ev.db*; : > $R/data/ev.db-wal")
        let result = try sandbox.run(
            """
            python3 $R/old.py $R/data/ev.db $R & old=$!
            wait_until "[ -e $R/ready ] || ! kill -0 $old"
            touch $R/wait; BACKUPFS_FAULT=lost.logs-aside=pause:$R/wait backupfs restore one --yes --store $S & restore=$!
            wait_paused $R/wait $restore
            touch $R/go; wait $old; kill -TERM $restore; wait $restore; status=$?; rm $R/wait; exit $status
            """)
        #expect(result.exitCode == 130, "\(result)")
        #expect(try sandbox.sh("cat $R/data/ev.db-wal") == String(repeating: "of the lost database", count: 300))
        #expect(try sandbox.sh("ls -A $R/data") == "ev.db-wal")
    }

    @Test(arguments: ["", "; : > $R/data/ev.db"])
    func `a restore that is killed leaves no file, and says that the database is there again`(loss: String) throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        let points = [
            "lost.database-copied", "lost.logs-aside", "lost.database-made", "restore.journal-written", "restore.before-commit",
        ]
        for point in points {
            try sandbox.sh("rm -f $R/data/ev.db*\(loss)")
            let killed = try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": point])
            #expect(killed.exitCode == 137, "\(point): \(killed)")
            try sandbox.sh("backupfs snapshots --store $S")
            let names = try sandbox.sh("ls -A $R/data")
            #expect(!names.contains("staging"), "\(point): \(names)")
            guard point.hasPrefix("restore.") else { continue }
            #expect(try sandbox.sh(Self.dump) == before)
            let report = try sandbox.sh("cat $S/restore/last.txt")
            #expect(report.contains("interrupted"), "\(point): \(report)")
            #expect(report.contains("is there again as the backup has it"), "\(point): \(report)")
            #expect(!report.contains("as it was"), "\(point): \(report)")
        }
        #expect(try sandbox.run("backupfs restore one --yes --store $S").exitCode == 0)
        #expect(try sandbox.sh(Self.dump) == before)
    }

    /// SQLite leaves an empty log with its index when a program that reads a database is killed.
    @Test(arguments: ["", "; : > $R/data/ev.db"])
    func `a restore that is killed while the logs of the lost database are aside leaves them where they were`(
        loss: String
    ) throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        let make = "rm -f $R/data/ev.db*\(loss); : > $R/data/ev.db-wal; head -c 32768 /dev/zero > $R/data/ev.db-shm"
        for point in ["lost.database-copied", "lost.logs-aside"] {
            try sandbox.sh(make)
            let names = try sandbox.sh("cd $R/data && stat -c '%n %s %i' * | sort")
            #expect(try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": point]).exitCode == 137)
            try sandbox.sh("backupfs snapshots --store $S")
            #expect(try sandbox.sh("cd $R/data && stat -c '%n %s %i' * | sort") == names, "\(point)")
        }
        try sandbox.sh(make)
        #expect(
            try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": "lost.database-named"]).exitCode == 137)
        #expect(try sandbox.sh("ls -A $R/data | grep -c staging") == "2")
        try sandbox.sh("backupfs snapshots --store $S")
        #expect(try sandbox.sh("ls -A $R/data") == "ev.db")
        #expect(try sandbox.sh(Self.dump) == before)
    }

    @Test func `a log that gets data after a kill is given its name back, and the next restore names it`() throws {
        let sandbox = try Self.prepare()
        try sandbox.sh("rm $R/data/ev.db*; : > $R/data/ev.db-wal")
        #expect(try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": "lost.logs-aside"]).exitCode == 137)
        try sandbox.sh("echo data > $(find $R/data -name '.backupfs-staging-*' -empty); backupfs snapshots --store $S")
        #expect(try sandbox.sh("cat $R/data/ev.db-wal") == "data")
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode != 0 && result.errors.contains("ev.db-wal"), "\(result)")
        #expect(try sandbox.sh("cat $R/data/ev.db-wal") == "data")
    }

    @Test func `a before-restore that fails leaves the database lost`() throws {
        let sandbox = try Self.prepare()
        try sandbox.sh("backupfs config set before-restore 'exit 1' --store $S >/dev/null; rm $R/data/ev.db*")
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode != 0 && result.errors.contains("Nothing was changed"), "\(result)")
        #expect(try sandbox.sh("ls -A $R/data") == "")
    }

    @Test func `a media folder on a disk that is not mounted leaves the database lost, and stops no service`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            mkdir $R/data $R/disk; mv $S/app/database.sqlite* $R/data/; mv $S/app/photos $R/disk/; rm -r $S
            backupfs init --store $S --app $R/diary.yaml --database $R/data/database.sqlite --media $R/disk/photos >/dev/null
            backupfs config set before-restore "touch $R/stopped" --store $S >/dev/null
            backupfs backup --label one --store $S >/dev/null; rm $R/data/*; mv $R/disk $R/away
            """)
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode != 0 && result.errors.contains("Mount its disk"), "\(result)")
        #expect(try sandbox.sh("ls -A $R/data; ls $R/stopped 2>/dev/null || true") == "")
    }

    @Test func `a restore that fails later says what is there again`() throws {
        let sandbox = try Self.prepare()
        let before = try sandbox.sh(Self.dump)
        try sandbox.sh("rm $R/data/ev.db*")
        let result = try sandbox.run("backupfs restore one --yes --store $S", ["BACKUPFS_FAULT": "restore.before-commit=fail"])
        #expect(result.exitCode != 0 && result.errors.contains("is there again as the backup has it"), "\(result)")
        #expect(!result.errors.contains("The data is as it was"), "\(result)")
        #expect(try sandbox.sh(Self.dump) == before)
        #expect(try sandbox.sh("cat $S/restore/last.txt").contains("is there again as the backup has it"))
    }

    /// Replacing the records of an app that keeps some of them would lose the column, so the database stays as created.
    @Test func `an app that keeps records in a restore gets a column of its own back`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            backupfs init --store $S --app smilepile --sample >/dev/null
            sqlite3 $S/app/database.sqlite "alter table photos add column secret text; update photos set secret = 's' || id"
            backupfs backup --label one --store $S >/dev/null 2>&1
            """)
        let state =
            "sqlite3 -readonly $S/app/database.sqlite .dump; cd $S/app/photos; find . -type f -print0 | sort -z | xargs -0 sha256sum"
        let before = try sandbox.sh(state)
        #expect(before.contains("'s1'") && before.contains("fox.png"))
        try sandbox.sh("rm -r $S/app")
        let preview = try sandbox.sh("backupfs restore one --dry-run --store $S")
        #expect(preview.contains("can be restored"), "\(preview)")
        #expect(try sandbox.sh("ls $S/app 2>/dev/null || true") == "")
        let result = try sandbox.run("backupfs restore one --yes --store $S")
        #expect(result.exitCode == 0, "\(result)")
        #expect(try sandbox.sh(state) == before)
        #expect(try sandbox.sh("find $S -name 'restore.journal*'") == "")
    }

    @Test(.enabled(if: Machine.isRoot, "NOT TESTED: files of other groups need root"), arguments: ["027", "007"])
    func `a database that is made has the mode and the group of its folder`(umask: String) throws {
        let sandbox = try Self.prepare()
        try sandbox.sh(
            """
            chmod 2770 $R/data; chgrp 65533 $R/data; rm $R/data/ev.db*
            umask \(umask); backupfs restore one --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh("stat -c '%a %g' $R/data/ev.db") == (umask == "027" ? "640 65533" : "660 65533"))
        try sandbox.sh(
            """
            rm $R/data/ev.db*; : > $R/data/ev.db; chmod 604 $R/data/ev.db; chgrp 65532 $R/data/ev.db
            backupfs restore one --yes --store $S >/dev/null
            """)
        #expect(try sandbox.sh("stat -c '%a %g' $R/data/ev.db") == "604 65532")
    }
}
