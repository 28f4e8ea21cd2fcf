import Foundation
import TestSupport
import Testing

/// A database file restored from where an app or a crash left it: including what its log holds, and without what its journal
/// rolls back.
struct LooseDatabaseTests {
    private static let rows = "pragma integrity_check; select id, hex(a) from t order by id"
    /// Names and bytes, except for a log's index.
    private static let state =
        "(cd $R/in; find . -printf '%P %s %m %T@ %i %U:%G\\n' | sort; find . -type f ! -name '*-shm' | sort | xargs sha256sum)"

    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox()
        try sandbox.write(DatabaseStates.script, to: "make.py")
        try sandbox.sh(
            """
            mkdir $R/in $R/private; printf thesis > $R/private/thesis.txt
            sqlite3 $R/app.db "create table t(id integer primary key, a blob); insert into t values (1, 'old')"
            backupfs init --store $S --database $R/app.db >/dev/null
            """)
    }

    @Test(arguments: ["hot", "wal", "wal with index", "kept journal", "empty journal", "both", "own super"])
    func `a file is restored with what lies beside it, which stays as it is`(kind: String) throws {
        try sandbox.sh("python3 $R/make.py '\(kind)' $R/in ''; cp -r $R/in $R/reference")
        let before = try sandbox.sh(Self.state)
        // The result in SQLite.
        let expected = try sandbox.sh("sqlite3 $R/reference/x.db '\(Self.rows)'")
        #expect(expected.hasPrefix("ok\n"))
        for option in ["--dry-run", "--yes"] {
            let result = try sandbox.run("backupfs restore $R/in/x.db \(option) --store $S")
            #expect(result.exitCode == 0 && result.errors == "", "\(result)")
            #expect(try sandbox.sh(Self.state) == before)
        }
        #expect(try sandbox.sh("sqlite3 $R/app.db '\(Self.rows)'") == expected)
        #expect(try sandbox.sh("ls $S/spool") == "CACHEDIR.TAG")
    }

    @Test(arguments: ["live wal", "live", "live spilled"])
    func `a file that a program is changing is restored as it was before that, or not at all`(kind: String) throws {
        let result = try sandbox.run(
            """
            python3 $R/make.py '\(kind)' $R/in '' $R/go & app=$!
            wait_until [ -e $R/go ]
            backupfs restore $R/in/x.db --yes --store $S; echo "exit $?"; rm $R/go; wait $app
            """)
        let count = try sandbox.sh("sqlite3 $R/app.db 'select count(*) from t'")
        if kind == "live spilled" {
            #expect(result.output.hasSuffix("exit 13\n") && result.errors.contains("locked") && count == "1", "\(result)")
        } else {
            #expect(result.output.hasSuffix("exit 0\n") && count == "400", "\(result)")
        }
    }

    @Test func `a journal that names a foreign file is not followed`() throws {
        try sandbox.sh("python3 $R/make.py super $R/in $R/private/thesis.txt")
        let before = try sandbox.sh(Self.state)
        let result = try sandbox.run("backupfs restore $R/in/x.db --yes --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("thesis.txt"), "\(result)")
        #expect(try sandbox.sh(Self.state) == before)
        #expect(try sandbox.sh("cat $R/private/thesis.txt; sqlite3 $R/app.db 'select count(*) from t'") == "thesis1")
    }

    @Test func `a log that is another database's is reported`() throws {
        try sandbox.sh("python3 $R/make.py 'other wal' $R/in ''; ls $R/in/x.db-wal")
        let result = try sandbox.run("backupfs restore $R/in/x.db --yes --store $S")
        #expect(result.exitCode == 1 && result.errors.contains("-wal"), "\(result)")
        try sandbox.sh("mkdir $R/alone; cp $R/in/x.db $R/alone; backupfs restore $R/alone/x.db --yes --store $S >/dev/null")
        #expect(try sandbox.sh("sqlite3 $R/app.db 'select count(*) from t'") == "500")
    }
}
