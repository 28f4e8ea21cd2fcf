import TestSupport
import Testing

/// A store whose folder was copied, as with a machine's disk: both copies have the same identity, and one repository.
@Suite(.rotating(oneIn: 3)) struct CopiedStoreTests {
    /// Two backups, `a` and `b`, and a copy of the store in `$R/copy` with its own database, which has one more table.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            for db in one two; do sqlite3 $R/$db.sqlite 'create table t(id integer primary key, x text); insert into t values (1, "'$db'")'; done
            backupfs init --store $S --repository $R/nas --database $R/one.sqlite
            backupfs config set retention-counts all --store $S; backupfs config set keep-last 3 --store $S
            for name in a b; do backupfs backup --label $name --store $S; done
            cp -a $S $R/copy; sed -i "s|$R/one.sqlite|$R/two.sqlite|" $R/copy/store.yaml
            """)
        return sandbox
    }

    private static let names = "jq -r 'map(select(.own) | .name) | join(\" \")'"
    private static let notice = "this store has not made the backup"

    @Test func `of two copies of a store the second one begins a line of its own`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("for name in c d; do backupfs backup --label $name --store $S; done")
        // Before its first backup the copy reports this, and leaves the other's backups alone.
        #expect(try sandbox.run("backupfs status --store $R/copy").output.contains("\(Self.notice) “d”"))
        #expect(try sandbox.run("backupfs status --check 1d --store $R/copy").exitCode == 1)
        for command in ["restore latest --yes", "delete latest --yes", "forget --keep-last 1 --yes", "prune --now"] {
            let refused = try sandbox.run("backupfs \(command) --store $R/copy")
            #expect(refused.exitCode != 0 && refused.errors.contains(Self.notice), "\(command): \(refused)")
        }
        let first = try sandbox.run("backupfs backup --label two1 --store $R/copy")
        #expect(first.exitCode == 0 && first.errors.contains("begins a line of its own"), "\(first)")
        for name in ["two2", "two3", "two4", "two5"] {
            let next = try sandbox.run("backupfs backup --label \(name) --store $R/copy")
            #expect(next.exitCode == 0 && !next.errors.contains(Self.notice), "\(next)")
        }
        try sandbox.sh("backupfs backup --label e --store $S")
        // Each has its own newest three.
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.names)") == "c d e")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/copy | \(Self.names)") == "two3 two4 two5")
        #expect(try sandbox.run("backupfs status --check 1d --store $R/copy").exitCode == 0)
        #expect(try sandbox.run("backupfs status --check 1d --store $S").exitCode == 0)
        try sandbox.sh("sqlite3 $R/one.sqlite 'delete from t'; backupfs restore latest --yes --store $S")
        #expect(try sandbox.sh("sqlite3 $R/one.sqlite 'select x from t'; sqlite3 $R/two.sqlite 'select x from t'") == "one\ntwo")
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }

    @Test func `a copy is noticed also where all that the store has made since was removed`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            for name in c d; do backupfs backup --label $name --store $S; done; backupfs delete c d --yes --store $S
            cp -a $R/nas $R/before
            """)
        for command in ["prune --now --max-unused 0", "delete c --now --yes", "delete --all --now --yes"] {
            let refused = try sandbox.run("backupfs \(command) --store $R/copy")
            #expect(refused.exitCode == 1 && refused.errors.contains("\(Self.notice) “d”"), "\(command): \(refused)")
        }
        #expect(try sandbox.sh("cd $R; diff -r before/removed nas/removed; diff -r before/packs nas/packs") == "")
        let first = try sandbox.run("backupfs backup --label two1 --store $R/copy")
        #expect(first.exitCode == 0 && first.errors.contains("begins a line of its own"), "\(first)")
        try sandbox.sh("for name in two2 two3 two4; do backupfs backup --label $name --store $R/copy; done")
        try sandbox.sh("backupfs undelete c --store $S; backupfs backup --label e --store $S")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.names)") == "b c e")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/copy | \(Self.names)") == "two2 two3 two4")
    }

    @Test func `a backup that fails after it has begun a line leaves the notice to the next one`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs backup --label c --store $S")
        let failed = try sandbox.run("BACKUPFS_FAULT=backup.catalog-updated=fail backupfs backup --label two1 --store $R/copy")
        #expect(failed.exitCode == 1, "\(failed)")
        let next = try sandbox.run("backupfs backup --label two2 --store $R/copy")
        #expect(next.exitCode == 0 && next.errors.contains("this backup begins a line of its own"), "\(next)")
        let last = try sandbox.run("backupfs backup --label two3 --store $R/copy")
        #expect(last.exitCode == 0 && !last.errors.contains("a line of its own"), "\(last)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/copy | \(Self.names)") == "two2 two3")
    }

    @Test func `two copies that make a backup at the same moment begin a line each, or one of them does`() throws {
        let sandbox = try Self.makeSandbox()
        // Both have read the line before either has made its backup.
        try sandbox.sh(
            """
            touch $R/pause
            BACKUPFS_FAULT=backup.record-written=pause:$R/pause backupfs backup --label c --store $S & first=$!
            wait_paused $R/pause $first
            backupfs backup --label two1 --store $R/copy || true
            rm $R/pause; wait $first
            for name in d e f g; do backupfs backup --label $name --store $S; backupfs backup --label two$name --store $R/copy; done
            """)
        let all = try sandbox.sh("backupfs snapshots --json --store $S | jq -r 'map(.name) | join(\" \")'").split(separator: " ")
        #expect(Set(all).isSuperset(of: ["e", "f", "g", "twoe", "twof", "twog"]), "\(all)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.names)") == "e f g")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/copy | \(Self.names)") == "twoe twof twog")
    }

    @Test func `a store that was put back to an older state removes no backup of its later one`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            for name in c d e; do backupfs backup --label $name --store $S; done
            rm -r $S; cp -a $R/copy $S; sed -i "s|$R/two.sqlite|$R/one.sqlite|" $S/store.yaml
            """)
        #expect(try sandbox.run("backupfs status --store $S").output.contains("\(Self.notice) “e”"))
        try sandbox.sh("for name in x y z w; do backupfs backup --label $name --store $S; done")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq -r 'map(.name) | join(\" \")'") == "c d e y z w")
        // And it can continue with them.
        try sandbox.sh(
            """
            source=$(backupfs snapshots --json --store $S | jq -r '.[] | select(.name == "e").source')
            backupfs init --store $R/new --repository $R/nas --adopt $source --database $R/one.sqlite
            backupfs backup --label f --store $R/new
            """)
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/new | \(Self.names)") == "c d e f")
    }

    /// Each creates its copy before the store has made a backup in its line. Or it puts the repository where only the file system
    /// shows that both have the same one.
    @Test(arguments: [
        "backupfs init --store $S --repository $R/nas --database $R/one.sqlite; COPY",
        "backupfs init --store $S --database $R/one.sqlite; mv $S/repository $R/nas; ln -s $R/nas $S/repository; COPY",
        "backupfs init --store $S --database $R/one.sqlite; backupfs config set repository $S/repository --store $S; COPY; rm -r $R/copy/repository",
        """
        backupfs init --store $R/lost --repository $R/nas --database $R/one.sqlite; backupfs backup --label o --store $R/lost; source=$(backupfs snapshots --json --store $R/lost | jq -r '.[0].source'); rm -r $R/lost
        backupfs init --store $S --repository $R/nas --adopt $source --database $R/one.sqlite; COPY
        """,
        """
        backupfs init --store $R/old --repository $R/nas --database $R/one.sqlite; backupfs backup --label o --store $R/old; source=$(backupfs snapshots --json --store $R/old | jq -r '.[0].source')
        backupfs init --store $S --repository $R/nas --adopt $source --database $R/one.sqlite
        backupfs backup --label p --store $R/old; COPY
        """,
    ])
    func `a copy is noticed whenever it was made, and wherever the repository is`(setUp: String) throws {
        let sandbox = try Sandbox()
        let copy = #"cp -a $S $R/copy; sed -i "s|$R/one.sqlite|$R/two.sqlite|" $R/copy/store.yaml"#
        try sandbox.sh(
            """
            for db in one two; do sqlite3 $R/$db.sqlite 'create table t(id integer primary key, x text); insert into t values (1, "'$db'")'; done
            \(setUp.replacing("COPY", with: copy))
            for store in $S $R/copy; do
                backupfs config set retention-counts all --store $store; backupfs config set keep-last 2 --store $store
            done
            for name in a b c; do backupfs backup --label $name --store $S; done
            """)
        let first = try sandbox.run("backupfs backup --label two1 --store $R/copy")
        #expect(first.exitCode == 0 && first.errors.contains("\(Self.notice) “c”"), "\(first)")
        try sandbox.sh("for name in two2 two3; do backupfs backup --label $name --store $R/copy; done")
        let next = try sandbox.run("backupfs backup --label d --store $S")
        #expect(next.exitCode == 0 && !next.errors.contains(Self.notice), "\(next)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.names)") == "c d")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/copy | \(Self.names)") == "two2 two3")
    }

    @Test func `a store whose record cannot be read removes nothing by a rule, and has no newest backup`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("rm $S/last-backup; mkdir $S/last-backup; cp -a $R/nas $R/before")
        for command in ["forget --keep-last 1 --yes", "restore latest --yes", "backup"] {
            let refused = try sandbox.run("backupfs \(command) --store $S")
            #expect(refused.exitCode == 1 && refused.errors.contains("/last-backup: "), "\(command): \(refused)")
        }
        #expect(try sandbox.sh("diff -r $R/before/snapshots $R/nas/snapshots") == "")
    }

    /// The new store must not give its number to one of its own backups.
    @Test func `a removed backup of an adopted source that comes back is not taken for a copy's`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            sqlite3 $R/one.sqlite 'create table t(a)'; backupfs init --store $R/old --repository $R/nas --database $R/one.sqlite
            for name in a b; do backupfs backup --label $name --store $R/old; done; backupfs delete b --yes --store $R/old
            source=$(backupfs snapshots --json --store $R/old | jq -r '.[0].source'); rm -r $R/old
            backupfs init --store $S --repository $R/nas --adopt $source --database $R/one.sqlite
            backupfs backup --label c --store $S; backupfs undelete b --store $S
            """)
        let next = try sandbox.run("backupfs backup --label d --store $S")
        #expect(next.exitCode == 0 && !next.errors.contains(Self.notice), "\(next)")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.names)") == "a b c d")
    }

    @Test func `a store by two paths does not take itself for a copy`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/data; ln -s $R/data $R/link; sqlite3 $R/one.sqlite 'create table t(a)'
            backupfs init --store $R/data/s --database $R/one.sqlite
            backupfs config set repository $R/data/s/repository --store $R/data/s
            """)
        for (name, folder) in [("a", "data"), ("b", "link"), ("c", "data"), ("d", "link")] {
            let result = try sandbox.run("backupfs backup --label \(name) --store $R/\(folder)/s")
            #expect(result.exitCode == 0 && !result.errors.contains(Self.notice), "\(result)")
        }
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/link/s | \(Self.names)") == "a b c d")
    }

    @Test(arguments: [
        "echo rubbish > $R/copy/last-backup", ": > $R/copy/last-backup", "head -c 2000 /dev/zero > $R/copy/last-backup",
    ])
    func `a store whose record is damaged removes no backup that a copy may have made`(damage: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("for name in c d; do backupfs backup --label $name --store $S; done; \(damage)")
        #expect(try sandbox.run("backupfs forget --keep-last 1 --yes --store $R/copy").errors.contains(Self.notice))
        for name in ["two1", "two2", "two3", "two4"] { try sandbox.sh("backupfs backup --label \(name) --store $R/copy") }
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | \(Self.names)") == "b c d")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/copy | \(Self.names)") == "two2 two3 two4")
    }

    @Test(arguments: [
        // The backup was recorded but did not appear; or it appeared, and the process died before reporting it.
        "! BACKUPFS_FAULT=backup.record-written backupfs backup --label c --store $S",
        "! BACKUPFS_FAULT=backup.published backupfs backup --label c --store $S",
        // The newest comes back after another one was made in its place.
        "backupfs delete b --yes --store $S; backupfs backup --label c --store $S; backupfs undelete b --store $S",
        "backupfs backup --label c --store $S; cp -a $R/nas $R/later; rm -r $R/nas; mv $R/older $R/nas",
        "rm $S/last-backup", "rm $S/identity",
        "mv $S $R/moved; ln -s $R/moved $S", "mv $R/nas $R/nas2; sed -i \"s|$R/nas|$R/nas2|\" $S/store.yaml",
    ])
    func `what is not a copy is not taken for one`(change: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("cp -a $R/nas $R/older; \(change)")
        for name in ["x", "y"] {
            let result = try sandbox.run("backupfs backup --label \(name) --store $S")
            #expect(result.exitCode == 0 && !result.errors.contains("line of its own"), "\(result)")
        }
        #expect(try sandbox.run("backupfs status --check 1d --store $S").exitCode == 0)
    }
}
