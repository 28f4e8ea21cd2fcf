import Foundation
import TestSupport
import Testing

/// The journal of the app's own database may name a file, which SQLite deletes when it rolls the journal back. That is done only
/// if the file is what it should be: SQLite's own list of journals.
struct SuperJournalTests {
    private static let state = "(cd $R/own; find . -printf '%P %s %m %T@ %i %U:%G\\n' | sort; sha256sum *)"

    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox()
        try sandbox.write(DatabaseStates.script, to: "make.py")
        try sandbox.sh("mkdir $R/own $R/private; printf thesis > $R/private/thesis.txt")
    }

    private func expectRefused(_ command: String) throws {
        let before = try sandbox.sh(Self.state)
        let result = try sandbox.run(command)
        #expect(result.exitCode == 1 && result.errors.contains("thesis.txt"), "\(command): \(result)")
        #expect(try sandbox.sh(Self.state) == before, "\(command)")
        #expect(try sandbox.sh("cat $R/private/thesis.txt") == "thesis", "\(command)")
    }

    @Test func `a store is not made for a database whose journal names a foreign file`() throws {
        try sandbox.sh("python3 $R/make.py super $R/own $R/private/thesis.txt")
        try expectRefused("backupfs init --store $S --database $R/own/x.db")
        #expect(try sandbox.sh("ls -d $S 2>/dev/null || echo none") == "none")
    }

    @Test func `no operation deletes a foreign file that the journal names`() throws {
        try sandbox.sh(
            """
            python3 $R/make.py hot $R/own ''; cp $R/own/x.db* $R/private
            sqlite3 $R/own/x.db 'select count(*) from t' >/dev/null; backupfs init --store $S --database $R/own/x.db >/dev/null
            backupfs backup --label one --store $S; rm $R/private/x.db*
            python3 $R/make.py super $R/own $R/private/thesis.txt
            """)
        for command in ["backup", "restore one --yes", "restore one --dry-run", "export --json --output $R/out.json"] {
            try expectRefused("backupfs \(command) --store $S")
        }
        _ = try sandbox.run("backupfs status --store $S")
        #expect(try sandbox.sh("cat $R/private/thesis.txt") == "thesis")
        // The remedy.
        try sandbox.sh("cp $R/private/thesis.txt $R/saved.txt; sqlite3 $R/own/x.db 'select count(*) from t'")
        #expect(try sandbox.sh("ls $R/private") == "")
        try sandbox.sh("backupfs backup --label two --store $S")
    }

    @Test func `a list of journals that is SQLite's own is followed`() throws {
        try sandbox.sh("python3 $R/make.py 'own super' $R/own ''; cp -r $R/own $R/reference")
        try sandbox.sh("backupfs init --store $S --database $R/own/x.db >/dev/null; backupfs backup --label one --store $S")
        // Without the list the journal would be ignored: the reference keeps its own path in it.
        #expect(
            try sandbox.sh("ls $R/own; sqlite3 $R/own/x.db 'pragma integrity_check; select count(*) from t'") == "x.db\nok\n400")
    }
}
