import TestSupport
import Testing

/// A file that a user names for an export, metrics or the log replaces nothing that the store keeps or backs up.
struct OutputPlaceTests {
    /// A store with the backup `yesterday`, with its database and media beside it; `other.sqlite` does not belong to the app.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            cd $R; mkdir m; echo photo > m/p.jpg
            for db in a.db other.sqlite; do sqlite3 $db "create table t(id integer primary key, x text); insert into t values (1, '$db')"; done
            backupfs init --store $S --database a.db --media m --repository r; backupfs backup --store $S --label yesterday
            sqlite3 a.db "insert into t values (2, 'in no backup')"
            ln -s a.db link.db; ln a.db hard.db; ln -s m folder; ln -s $R/elsewhere.json m/link
            """)
        return sandbox
    }

    private static let sums =
        "cd $R; sha256sum a.db other.sqlite m/p.jpg $S/store.yaml $S/identity r/config r/register r/packs/*/*; ls -R m; readlink link.db m/link"

    private static let places = [
        "a.db", "a.db-wal", "a.db-journal", "link.db", "hard.db", "other.sqlite", "m/p.jpg", "m/new", "folder/new", "m/link",
        "store/store.yaml", "store/identity", "store/history.jsonl", "store/spool/new", "r/config", "r/new",
    ]

    @Test func `no export, metrics or log take the place of data, settings or backups`() throws {
        let sandbox = try Self.makeSandbox()
        let before = try sandbox.sh(Self.sums)
        for place in Self.places {
            for command in [
                "export yesterday -o \(place)", "export --zip -o \(place)", "status --prometheus \(place)",
                "snapshots --log-file \(place)", "config set log-file $R/\(place)",
            ] {
                let refused = try sandbox.run("cd $R; backupfs \(command) --store $S")
                #expect(refused.exitCode == 2 && refused.errors.contains("Name another file"), "\(command): \(refused)")
            }
        }
        for folder in ["m", "m/new", "store", "store/new", "r"] {
            let refused = try sandbox.run("cd $R; backupfs export --csv \(folder) --store $S")
            #expect(refused.exitCode == 2, "\(folder): \(refused)")
        }
        for folder in ["m/new", "store/restore/new", "r/new"] {
            let refused = try sandbox.run("cd $R; backupfs restore yesterday --target \(folder) --store $S")
            #expect(refused.exitCode == 2, "\(folder): \(refused)")
        }
        #expect(try sandbox.run("cd $S; backupfs export --store $S").exitCode == 2)
        #expect(try sandbox.run("cd $R; BACKUPFS_LOG_FILE=a.db backupfs snapshots --store $S").exitCode == 2)
        #expect(try sandbox.sh(Self.sums) == before)
        #expect(
            try sandbox.sh("cd $R; ls -A $S | grep -e part -e new -e csv || true; sqlite3 a.db 'select count(*) from t'") == "2")
    }

    @Test func `a photo that a mount shows by another path is not replaced`() throws {
        let sandbox = try Self.makeSandbox()
        let refused = try sandbox.run(
            """
            cd $R; mkdir bound; unshare -m --propagation private sh -c 'mount --bind m bound
              for option in "-o bound/p.jpg" "--zip -o bound/p.jpg" "--csv bound"; do backupfs export yesterday $option --store $S && exit 0; done
              backupfs export yesterday -o bound/../out --store $S && exit 5'
            """)
        #expect(refused.exitCode == 5 && refused.errors.contains("the file is in the media folder"), "\(refused)")
        #expect(try sandbox.sh("cat $R/m/p.jpg; ls $R/m") == "photo\nlink\np.jpg")
    }

    @Test func `what was exported before, and a place elsewhere, can be written`() throws {
        let sandbox = try Self.makeSandbox()
        for command in [
            "export yesterday -o $R/out", "export -o $R/out", "export --zip -o $R/out", "export yesterday --tar -o $R/out",
            "export --json -o $R/out", "export --csv $R/csv", "export yesterday --csv $R/csv", "status --prometheus $R/out.prom",
            "status --prometheus $R/out.prom", "snapshots --log-file $R/out.log", "snapshots --log-file $S/other.log",
            "snapshots --log-file $S/backupfs.log", "config set log-file logs.txt", "export -o /dev/null",
        ] {
            let result = try sandbox.run("cd $R; backupfs \(command) --store $S")
            #expect(result.exitCode == 0, "\(command): \(result)")
        }
        #expect(try sandbox.sh("jq -r '.t[1].x' $R/out; ls $R/csv") == "in no backup\nt.csv")
        // A mount of the store may be inside the store.
        try sandbox.sh("mkdir $S/mnt; printf %s $S/mnt > $S/mountpoint; backupfs export -o $S/mnt/x --store $S")
    }

    /// The disk of the media, or of the database, may be missing.
    @Test func `a backup can be exported while the app's data is not there`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("cd $R; rm -r a.db hard.db link.db m; ln -s $R/none/m m; backupfs export yesterday -o $R/out --store $S")
        #expect(try sandbox.run("backupfs export yesterday -o $R/a.db --store $S").exitCode == 2)
        #expect(try sandbox.run("backupfs export yesterday -o $R/m/x --store $S").exitCode != 0)
    }

    @Test func `a log that the settings send into the database goes into the store`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("sed -i \"s|^# log-file:.*|log-file: $R/a.db|\" $S/store.yaml; grep -q ^log-file $S/store.yaml")
        let before = try sandbox.sh(Self.sums)
        let checked = try sandbox.run("backupfs config check --store $S")
        #expect(checked.exitCode == 1 && checked.errors.contains("log-file: this is a file of the app's database"), "\(checked)")
        try sandbox.sh("rm -f $S/backupfs.log; backupfs export -o $R/out --store $S")
        #expect(try sandbox.sh(Self.sums) == before)
        #expect(try sandbox.sh("jq -r .op $S/backupfs.log") == "export")
        try sandbox.sh("backupfs config unset log-file --store $S; backupfs config check --store $S")
    }
}
