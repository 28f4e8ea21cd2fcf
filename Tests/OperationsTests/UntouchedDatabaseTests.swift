import Foundation
import TestSupport
import Testing

/// A backup changes nothing among the media, whatever the state of a database there, and loses no byte of what SQLite cannot
/// read.
struct UntouchedDatabaseTests {
    /// Names, sizes, modes, modification times and inodes of everything among the media, and the bytes except for a log's index.
    private static let state = """
        (cd $S/app/photos; find . -printf '%P %s %m %T@ %i %U:%G\\n' | sort; find . -type f ! -name '*-shm' -print0 | sort -z | xargs -0 sha256sum)
        """

    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.write(DatabaseStates.script, to: "make.py")
        try sandbox.sh("mkdir $R/private; printf thesis > $R/private/thesis.txt; ln -s one.jpg $S/app/photos/link-wal")
        return sandbox
    }

    @Test(arguments: [
        "hot", "stale", "super", "wal", "wal with index", "other wal", "empty journal", "kept journal", "both", "empty",
        "log of a log",
    ])
    func `a database that stands still is stored byte for byte with what lies beside it`(kind: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("python3 $R/make.py '\(kind)' $S/app/photos $R/private/thesis.txt")
        let before = try sandbox.sh(Self.state)
        #expect(before.contains("x.db-"))
        for name in ["one", "two"] {
            let result = try sandbox.run("backupfs backup --label \(name) --store $S")
            #expect(result.exitCode == 0 && result.errors == "", "\(result)")
            #expect(try sandbox.sh(Self.state) == before)
        }
        #expect(try sandbox.sh("cat $R/private/thesis.txt") == "thesis")
        try sandbox.sh(
            "backupfs restore two --target $R/out --store $S >/dev/null; diff -r --no-dereference $R/out/media $S/app/photos")
        // A restore in place does not roll back a journal either, and keeps nothing aside that the safety backup has.
        try sandbox.sh("rm $S/app/photos/x.db*; backupfs restore one --yes --store $S >$R/report")
        try sandbox.sh("diff -r --no-dereference $R/out/media $S/app/photos")
        try sandbox.sh("backupfs restore one --yes --store $S >>$R/report")
        #expect(
            try sandbox.sh("cat $R/private/thesis.txt; ls $S/app; grep -c kept $R/report || true")
                == "thesisdatabase.sqlite\nphotos\n0")
    }

    @Test(arguments: ["live wal", "live", "live spilled"])
    func `a database with a transaction under way is stored as it was before that`(kind: String) throws {
        let sandbox = try Self.makeSandbox()
        let result = try sandbox.run(
            """
            python3 $R/make.py '\(kind)' $S/app/photos '' $R/go & app=$!
            wait_until [ -e $R/go ]
            ( \(Self.state) ) > $R/before; backupfs backup --label one --store $S; echo "exit $?"; ( \(Self.state) ) > $R/after
            rm $R/go; wait $app; diff $R/before $R/after
            """)
        #expect(result.output.hasSuffix("exit 0\n") && result.errors == "", "\(result)")
        // A database caught in the middle of a transaction comes with its journal.
        try sandbox.sh("backupfs restore one --target $R/out --store $S >/dev/null")
        #expect(
            try sandbox.sh(
                "cd $R/out/media; ls | grep x.db | tr '\\n' ' '; sqlite3 x.db 'pragma integrity_check; select count(*) from t'")
                == (kind == "live spilled" ? "x.db x.db-journal" : "x.db") + " ok\n400")
    }

    @Test(.enabled(if: geteuid() == 0, "needs to be root and allowed to mount"), arguments: ["hot", "wal", "wal with index"])
    func `a database on a medium that cannot be written is stored`(kind: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("python3 $R/make.py '\(kind)' $S/app/photos ''")
        let result = try sandbox.runInNamespace(
            """
            mount --bind $S/app/photos $S/app/photos && mount -o remount,ro,bind $S/app/photos
            ! touch $S/app/photos/x 2>/dev/null && backupfs backup --label one --store $S
            """)
        #expect(result.exitCode == 0, "\(result)")
        try sandbox.sh(
            "backupfs restore one --target $R/out --store $S >/dev/null; diff -r --no-dereference $R/out/media $S/app/photos")
    }

    @Test(.enabled(if: geteuid() == 0, "needs to be root and allowed to mount"))
    func `a database that is larger than the space for a copy is stored without one`() throws {
        let sandbox = try Self.makeSandbox()
        let result = try sandbox.runInNamespace(
            """
            mount -t tmpfs -o size=100k none $S/spool; touch $S/spool/CACHEDIR.TAG
            python3 $R/make.py 'live wal' $S/app/photos '' $R/go & app=$!
            wait_until [ -e $R/go ]
            backupfs backup --label one --store $S; echo "exit $?"; rm $R/go; wait $app
            """)
        #expect(result.output.hasSuffix("exit 0\n") && result.errors == "", "\(result)")
        try sandbox.sh("backupfs restore one --target $R/out --store $S >/dev/null")
        #expect(
            try sandbox.sh(
                "cd $R/out/media; ls | grep -c x.db-wal; sqlite3 x.db 'pragma integrity_check; select count(*) from t'")
                == "1\nok\n400")
    }
}
