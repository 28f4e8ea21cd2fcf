import TestSupport
import Testing

/// When a store created to continue another one's backups takes them over: with its first backup or restore, not before.
struct AdoptionTests {
    private static let own = "jq -r 'map(select(.own) | .name) | join(\" \")'"

    /// A store with the backups `a` and `b` of its own database; `$SOURCE` in the scripts is its source.
    private static func makeSandbox() throws -> (sandbox: Sandbox, environment: [String: String]) {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/app.sqlite "create table notes(id integer primary key, t text); insert into notes values(1,'first')"
            backupfs init --store $S --database $R/app.sqlite --repository $R/nas
            backupfs config set keep-last 3 --store $S; backupfs config set retention-counts all --store $S
            for name in a b; do backupfs backup --label $name --store $S; done
            """)
        return (sandbox, ["SOURCE": try sandbox.sh("backupfs status --json --store $S | jq -r .source")])
    }

    @Test func `a store that cannot be made leaves the backups to the one that makes them`() throws {
        let (sandbox, environment) = try Self.makeSandbox()
        let before = try sandbox.sh("cd $R/nas; sha256sum sources/* snapshots/* register")
        let refused = try sandbox.run(
            "mkdir $R/other; echo x > $R/other/file; backupfs init --store $R/other --repository $R/nas --adopt $SOURCE",
            environment)
        #expect(refused.exitCode == 1 && refused.errors.contains("something else is here already"), "\(refused)")
        #expect(try sandbox.sh("cd $R/nas; sha256sum sources/* snapshots/* register") == before)
        #expect(try sandbox.run("backupfs status --check 1d --store $S").exitCode == 0)
        try sandbox.sh("backupfs restore latest --yes --store $S")
        let next = try sandbox.run("backupfs backup --label c --store $S")
        #expect(next.exitCode == 0 && next.errors == "", "\(next)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.own)") == "a b c")
    }

    @Test(arguments: ["backup --label first", "restore latest --yes"])
    func `the old store goes on until the one that adopts its backups is used`(use: String) throws {
        let (sandbox, environment) = try Self.makeSandbox()
        try sandbox.sh("backupfs init --store $R/new --repository $R/nas --adopt $SOURCE", environment)
        try sandbox.sh("for name in c d; do backupfs backup --label $name --store $S; done")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.own)") == "b c d")
        for (store, status) in [("$S", 0), ("$R/new", 1)] {
            let checked = try sandbox.run("backupfs status --check 1d --store \(store)")
            #expect(checked.exitCode == status, "\(checked)")
            #expect(try sandbox.sh("backupfs status --json --store \(store) | jq -r .successor") == "null")
        }
        let used = try sandbox.run("backupfs \(use) --store $R/new")
        #expect(used.exitCode == 0 && !used.errors.contains("another store"), "\(used)")
        // From here on they belong to the new store, including those that the old one made meanwhile.
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/new | \(Self.own)").hasPrefix("b c d"))
        #expect(try sandbox.run("backupfs status --check 1d --store $S").exitCode == 1)
        #expect(try sandbox.run("backupfs restore latest --yes --store $S").exitCode == 1)
        let forked = try sandbox.run("backupfs backup --label after --store $S")
        #expect(forked.exitCode == 0 && forked.errors.contains("this backup begins a line of its own"), "\(forked)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.own)") == "after")
        for name in ["x", "y"] {
            let next = try sandbox.run("backupfs backup --label \(name) --store $R/new")
            #expect(next.exitCode == 0 && next.errors == "", "\(next)")
        }
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/new | \(Self.own)").hasSuffix("x y"))
        #expect(try sandbox.run("backupfs check --read-data --store $R/new").exitCode == 0)
    }

    @Test func `of two stores that adopt the same backups the first one that is used continues them`() throws {
        let (sandbox, environment) = try Self.makeSandbox()
        try sandbox.sh(
            """
            for name in one two; do backupfs init --store $R/$name --repository $R/nas --adopt $SOURCE; done
            backupfs backup --label mine --store $R/two
            """, environment)
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/two | \(Self.own)") == "a b mine")
        for command in ["restore latest --yes", "forget --yes", "delete latest --yes"] {
            let refused = try sandbox.run("backupfs \(command) --store $R/one")
            #expect(refused.exitCode == 1 && refused.errors.contains("another store, \(sandbox.path)/two on "), "\(refused)")
        }
        let late = try sandbox.run("backupfs backup --label late --store $R/one")
        #expect(late.exitCode == 0 && late.errors.contains("this backup begins a line of its own"), "\(late)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/one | \(Self.own)") == "late")
        #expect(try sandbox.run("backupfs status --check 1d --store $R/one").exitCode == 0)
        #expect(try sandbox.run("backupfs status --check 1d --store $R/two").exitCode == 0)
    }

    /// The store that makes the backups may be in use; it has removed `c` and can bring it back.
    @Test func `until it is used, a store that adopts backups removes none by a rule and none for good`() throws {
        let (sandbox, environment) = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs backup --label c --store $S; backupfs delete c --yes --store $S
            backupfs init --store $R/new --repository $R/nas --adopt $SOURCE
            """, environment)
        let before = try sandbox.sh("cd $R/nas; sha256sum snapshots/* removed/* packs/*/*")
        for command in [
            "forget --yes", "forget --keep-last 1 --yes", "delete --all --yes", "delete --all --now --yes",
            "delete a --now --yes",
            "delete c --now --yes", "prune --now --max-unused 0", "prune --max-unused 0",
        ] {
            let refused = try sandbox.run("backupfs \(command) --store $R/new")
            guard command != "prune --max-unused 0" else {
                #expect(refused.exitCode == 0, "\(refused)")
                continue
            }
            #expect(
                refused.exitCode == 1
                    && refused.errors.contains("this store has adopted the backups of another store, \(sandbox.storePath) on "),
                "\(command): \(refused)")
            #expect(refused.errors.contains("and has not used them yet"), "\(command): \(refused)")
        }
        #expect(try sandbox.sh("cd $R/nas; sha256sum snapshots/* removed/* packs/*/*") == before)
        // Backups deleted by name can be brought back.
        try sandbox.sh(
            "backupfs delete a --yes --store $R/new; backupfs undelete a c --store $S; backupfs delete c --yes --store $S")
        // From its first backup on they are its own, whatever happened to the other store.
        try sandbox.sh("rm -r $S; backupfs backup --label d --store $R/new; backupfs prune --now --store $R/new")
        try sandbox.sh("backupfs forget --keep-last 1 --yes --store $R/new; backupfs delete --all --now --yes --store $R/new")
        #expect(try sandbox.sh("find $R/nas -name '*.pack' -o -name '*.snapshot'") == "")
    }

    @Test(arguments: ["printf X | dd of=$DOCUMENT bs=1 seek=60 conv=notrunc status=none", "rm $DOCUMENT"])
    func `a source that the repository says nothing of is taken over all the same`(loss: String) throws {
        let (sandbox, environment) = try Self.makeSandbox()
        try sandbox.sh(
            """
            DOCUMENT=$R/nas/sources/$SOURCE.source; \(loss)
            backupfs init --store $R/new --repository $R/nas --adopt $SOURCE --database $R/app.sqlite
            backupfs backup --label c --store $S
            """, environment)
        let first = try sandbox.run("backupfs backup --label d --store $R/new")
        #expect(first.exitCode == 0 && first.errors == "", "\(first)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/new | \(Self.own)") == "a b c d")
        #expect(try sandbox.run("backupfs status --check 1d --store $S").exitCode == 1)
    }

    @Test func `settings that are cut off before the first backup do not reach the repository`() throws {
        let (sandbox, environment) = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs init --store $R/new --repository $R/nas --adopt $SOURCE; rm -r $S
            sed -i '/^keep-last/,$d' $R/new/store.yaml; backupfs backup --label c --store $R/new 2>/dev/null
            rm -r $R/new; backupfs init --store $R/new --repository $R/nas --adopt $SOURCE
            """, environment)
        #expect(try sandbox.sh("backupfs config get keep-last --store $R/new") == "3")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/new | \(Self.own)") == "a b c")
    }

    @Test(.enabled(if: MountPermission.isThere, "needs to mount"))
    func `a store can be made, read and verified with a repository on a read-only disk`() throws {
        let (sandbox, _) = try Self.makeSandbox()
        try sandbox.write(
            """
            set -e
            rm -r $S $R/app.sqlite; mount --bind $R/nas $R/nas; mount -o remount,ro,bind $R/nas; ! touch $R/nas/x 2>/dev/null
            backupfs init --store $S --repository $R/nas >/dev/null
            backupfs restore latest --target $R/out --store $S >/dev/null; sqlite3 $R/out/database.sqlite 'select t from notes'
            backupfs verify latest --store $S
            backupfs verify latest --json --store $S | jq -c 'select(.message_type == "verification") | [.verified, .findings]'
            """, to: "script.sh")
        let result = try sandbox.run("unshare -m --propagation private bash $R/script.sh")
        #expect(result.exitCode == 0, "\(result)")
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "first" && lines.last == "[true,[]]", "\(result)")
        #expect(
            lines.contains("  (the repository is on a read-only disk, so the time of this check is not kept with the backup)"),
            "\(result)")
        // Once the repository is writable again, the store takes the backups over.
        try sandbox.sh("backupfs restore latest --yes --store $S; backupfs backup --label c --store $S")
        #expect(
            try sandbox.sh("sqlite3 $R/app.sqlite 'select t from notes'; backupfs snapshots --json --store $S | \(Self.own)")
                == "first\na b c")
    }
}
