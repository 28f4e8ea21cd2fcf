import TestSupport
import Testing

/// `delete --now` where another store has its backups in the same repository: permanent deletion must hit what was intended.
struct OtherSourceDeletionTests {
    /// The store `$S` has removed its backup `x`; the store `$R/other` has a backup `x` and one more, `theirs`.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            for db in own other; do sqlite3 $R/$db.sqlite 'create table t(id integer primary key, x text); insert into t values (1, "'$db'")'; done
            backupfs init --store $S --repository $R/nas --database $R/own.sqlite
            backupfs init --store $R/other --repository $R/nas --database $R/other.sqlite --new-source
            for name in x y; do backupfs backup --label $name --store $S; done; backupfs delete x --yes --store $S
            for name in x theirs; do backupfs backup --label $name --store $R/other; done
            """)
        return sandbox
    }

    private func names(_ sandbox: Sandbox, _ store: String, _ option: String = "") throws -> String {
        try sandbox.sh("backupfs snapshots \(option) --json --store \(store) | jq -r 'map(select(.own) | .name) | join(\" \")'")
    }

    @Test func `delete --now takes this store's removed backup and not another store's of the same name`() throws {
        let sandbox = try Self.makeSandbox()
        #expect(try sandbox.sh("backupfs delete x --now --yes --store $S").hasSuffix("Deleted x"))
        #expect(try names(sandbox, "$R/other") == "x theirs")
        #expect(try names(sandbox, "$S") == "y")
        #expect(try names(sandbox, "$S", "--removed") == "")
        #expect(try sandbox.run("backupfs check --read-data --store $R/other").exitCode == 0)
    }

    @Test func `a removed backup that is named by its ID goes, whatever another store's backup is called`() throws {
        let sandbox = try Self.makeSandbox()
        let id = try sandbox.sh("backupfs snapshots --removed --json --store $S | jq -r '.[0].id[:8]'")
        try sandbox.sh("backupfs backup --label \(id) --store $R/other; backupfs delete \(id) --now --yes --store $S")
        #expect(try names(sandbox, "$R/other") == "x theirs \(id)")
        #expect(try names(sandbox, "$S", "--removed") == "")
    }

    @Test func `another store's backup is not deleted for good unless it is said`() throws {
        let sandbox = try Self.makeSandbox()
        let refused = try sandbox.run("backupfs delete y theirs --now --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("theirs: another store made this backup"), "\(refused)")
        #expect(refused.errors.contains("--other-source"), "\(refused)")
        #expect(try names(sandbox, "$R/other") == "x theirs")
        #expect(try names(sandbox, "$S") == "y")
        // The name is ambiguous, and one of the two is this store's.
        let ambiguous = try sandbox.run("backupfs delete x --now --other-source --yes --store $S")
        #expect(ambiguous.exitCode == 1 && ambiguous.errors.contains("both have this name"), "\(ambiguous)")
        #expect(try names(sandbox, "$R/other") == "x theirs")
        #expect(try names(sandbox, "$S", "--removed") == "x")
        let said = try sandbox.run("backupfs delete theirs --now --other-source --yes --store $S")
        #expect(said.exitCode == 0 && said.output.hasSuffix("Deleted theirs\n"), "\(said)")
        #expect(said.errors.contains("another store, \(sandbox.path)/other on "), "\(said)")
        #expect(try names(sandbox, "$R/other") == "x")
        #expect(try names(sandbox, "$R/other", "--removed") == "")
    }

    @Test func `what can be brought back may be another store's, and its store can bring it back`() throws {
        let sandbox = try Self.makeSandbox()
        for command in ["delete theirs", "forget theirs"] {
            let deleted = try sandbox.run("backupfs \(command) --yes --store $S")
            #expect(deleted.exitCode == 0, "\(deleted)")
            #expect(
                deleted.errors.contains("warning: another store, \(sandbox.path)/other on ")
                    && deleted.errors.contains("made the backup “theirs”"), "\(deleted)")
            try sandbox.sh("backupfs undelete theirs --store $R/other")
        }
        #expect(try names(sandbox, "$R/other") == "x theirs")
    }
}
