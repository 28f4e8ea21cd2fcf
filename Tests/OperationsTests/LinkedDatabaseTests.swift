import TestSupport
import Testing

@testable import BackupRepository
@testable import Operations

/// A database or a media folder whose path is a symbolic link: SQLite keeps the log beside the file, not beside the link.
struct LinkedDatabaseTests {
    /// A store on `current.db`, a link to `data/v3.db` with one row.
    private static func makeSandbox(mode: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/data; ln -s data/v3.db $R/current.db
            sqlite3 $R/data/v3.db "pragma journal_mode = \(mode); create table t(id integer primary key, a text); insert into t values (1, 'one')"
            backupfs init --store $S --database $R/current.db
            """)
        return sandbox
    }

    /// The backup `b1`, then Python code, beside an app that keeps its database open.
    private static func makeSandboxWithApp(_ code: String) throws -> Sandbox {
        let sandbox = try makeSandbox(mode: "wal")
        try sandbox.sh(
            """
            cat >$R/app.py <<'END'
            import os, sqlite3, subprocess
            app = sqlite3.connect(os.environ["R"] + "/current.db")
            def commit(sql): app.execute(sql); app.commit()
            def sh(script): subprocess.run(["bash", "-ec", script], check=True)
            sh("touch -d 2020-01-01 $R/data/v3.db; backupfs backup --label b1 --store $S")
            \(code)
            END
            python3 $R/app.py
            """)
        return sandbox
    }

    private static func export(_ name: String, _ sandbox: Sandbox) throws -> String {
        String(decoding: try Store.open(sandbox.storePath).file("export.json", in: name), as: UTF8.self)
    }

    @Test func `R-C1: what lies in the log of a database behind a link is in the next backup`() throws {
        let sandbox = try Self.makeSandboxWithApp(
            """
            commit("insert into t values (2, 'second row')")
            sh("backupfs backup --label b2 --store $S; backupfs backup --label b3 --store $S")
            commit("insert into t values (3, 'third row')")
            sh("backupfs backup --label b4 --store $S")
            """)
        #expect(try !Self.export("b1", sandbox).contains("second row"))
        #expect(try Self.export("b2", sandbox).contains("second row"))
        #expect(try Self.export("b4", sandbox).contains("third row"))
        #expect(try sandbox.sh("backupfs diff b2 b4 --store $S").contains("1 added"))
        #expect(try sandbox.sh("readlink $R/current.db; ls $R/data") == "data/v3.db\nv3.db")
    }

    @Test func `R-C1: what lies in the log of a database behind a link is in the safety backup`() throws {
        let sandbox = try Self.makeSandboxWithApp(
            """
            commit("insert into t values (3, 'third row')")
            sh("backupfs restore b1 --yes --store $S")
            """)
        #expect(try sandbox.sh("sqlite3 $R/current.db 'select id from t'") == "1")
        try sandbox.sh("backupfs restore $(jq -r .safetyBackup $S/restore/last.json) --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/data/v3.db 'select id from t'; readlink $R/current.db") == "1\n3\ndata/v3.db")
    }

    @Test(arguments: ["mv $R/n.db $R/data/v3.db", "mv $R/n.db $R/data/v4.db; ln -sfn data/v4.db $R/current.db"])
    func `R-C4: a file behind a link that is replaced during a restore refuses it`(replacing: String) throws {
        let sandbox = try Self.makeSandbox(mode: "delete")
        try sandbox.sh("backupfs backup --label one --store $S; sqlite3 $R/data/v3.db \".backup $R/n.db\"")
        let result = try sandbox.run(
            """
            touch $R/pause
            BACKUPFS_FAULT=restore.safety-made=pause:$R/pause backupfs restore one --yes --store $S >$R/told 2>&1 & restore=$!
            wait_paused $R/pause $restore
            sqlite3 $R/n.db "insert into t values (2, 'new')"; \(replacing)
            rm $R/pause; wait $restore; status=$?; cat $R/told; exit $status
            """)
        #expect(result.exitCode == 13, "\(result)")
        #expect(result.output.contains("another program replaced the database's file"), "\(result)")
        #expect(try sandbox.sh("sqlite3 $R/current.db 'select id from t'") == "1\n2")
    }

    /// The disk that the link points to is not mounted, or the links are wrong.
    @Test(arguments: [
        ("mv $R/data $R/away", "mv $R/away $R/data", "the symbolic link leads to nothing"),
        (
            "rm $R/current.db; ln -s loop.db $R/current.db; ln -s current.db $R/loop.db", "ln -sfn data/v3.db $R/current.db",
            "the symbolic links lead in a circle"
        ),
    ])
    func `R-C1: a link of the database that leads to nothing is an error, and nothing is made in its place`(
        breaking: String, mending: String, complaint: String
    ) throws {
        let sandbox = try Self.makeSandbox(mode: "wal")
        try sandbox.sh("backupfs backup --label one --store $S; sqlite3 $R/data/v3.db \".backup $R/n.db\"; \(breaking)")
        let links = try sandbox.sh("ls $R; readlink $R/current.db")
        for command in [
            "backup", "restore one --yes", "restore $R/n.db --yes", "export --json -o $R/live.json", "diff one live",
            "config check",
        ] {
            let result = try sandbox.run("backupfs \(command) --store $S")
            #expect(result.exitCode == 1, "\(command): \(result)")
            #expect((result.errors + result.output).contains(complaint), "\(command): \(result)")
            #expect((result.errors + result.output).contains(sandbox("current.db")), "\(command): \(result)")
        }
        let made = try sandbox.run("backupfs init --store $R/second --database $R/current.db")
        #expect(made.exitCode == 1 && made.errors.contains(complaint), "\(made)")
        #expect(try sandbox.sh("ls $R; readlink $R/current.db") == links)
        // The backups remain readable meanwhile.
        try sandbox.sh(
            "backupfs ls one --store $S; backupfs restore one --target $R/out --store $S; \(mending); backupfs backup --store $S")
        #expect(try sandbox.sh("sqlite3 $R/current.db 'select id from t'") == "1")
    }

    @Test(arguments: [
        ("mv $R/elsewhere $R/away", "mv $R/away $R/elsewhere", "the symbolic link leads to nothing"),
        ("ln -sfn photos $S/app/photos", "ln -sfn $R/elsewhere $S/app/photos", "the symbolic links lead in a circle"),
    ])
    func `R-C1: a link of the media folder that leads to nothing is an error, and no file counts as removed`(
        breaking: String, mending: String, complaint: String
    ) throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh(
            """
            mv $S/app/photos $R/elsewhere; ln -s $R/elsewhere $S/app/photos; chmod 751 $R/elsewhere
            backupfs backup --label one --store $S; \(breaking)
            """)
        let store = try Store.open(sandbox.storePath)
        // The folder's, not the link's.
        let media = try store.repository.rootDirectory(of: store.snapshot(named: "one")).entry(named: "media")
        #expect(media.map { $0.mode & 0o777 } == 0o751)
        for command in ["backup", "restore one --yes", "export --zip -o $R/live.zip", "diff one live", "config check"] {
            let result = try sandbox.run("backupfs \(command) --store $S")
            #expect(result.exitCode == 1, "\(command): \(result)")
            #expect((result.errors + result.output).contains(complaint), "\(command): \(result)")
        }
        #expect(
            try sandbox.sh("ls $S/repository/snapshots | wc -l; ls -d $S/app/photos*") == "1\n\(sandbox.storePath)/app/photos")
        try sandbox.sh("\(mending); backupfs backup --label two --store $S; backupfs restore one --yes --store $S")
        #expect(try sandbox.sh("cat $R/elsewhere/one.jpg; readlink $S/app/photos") == "one\(sandbox.path)/elsewhere")
    }
}
