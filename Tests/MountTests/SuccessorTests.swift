import TestSupport
import Testing

/// A mount of a store whose backups another store continues, and of one that shares its repository.
@Suite(.enabled(if: !Machine.skipsMountedTests)) struct SuccessorTests {
    private static let notice = "another store, "

    /// Two backups, `a` and `b`, of the mounted store, and another store that can continue them.
    private func sandbox(_ body: (Sandbox) throws -> Void) throws {
        try Sandbox.use { sandbox in
            try sandbox.sh(
                """
                backupfs init --store $S --repository $R/nas --sample
                for name in a b; do backupfs backup --label $name --store $S; done
                """)
            try body(sandbox)
        }
    }

    private static let takeOver = """
        source=$(backupfs status --json --store $S | jq -r .source)
        backupfs init --store $R/new --repository $R/nas --adopt $source; backupfs backup --label other --store $R/new
        """

    private func countRecords(_ sandbox: Sandbox) throws -> String {
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'select count(*) from expenses'")
    }

    @Test func `a mount has no latest while another store continues its backups`() throws {
        try sandbox { sandbox in
            try sandbox.mount()
            #expect(try sandbox.sh("readlink $M/snapshots/latest; jq -r .successor $M/status.json") == "b\nnull")
            try sandbox.sh(Self.takeOver)
            #expect(try sandbox.sh("ls $M/snapshots | paste -sd' '") == "a b other")
            // The data may be the other store's: this one has 1200 records, that one none.
            for path in ["latest/archive.zip", "latest/export.json"] {
                try sandbox.fails("cp $M/snapshots/\(path) $M/restore/", saying: "No such file or directory")
            }
            try sandbox.fails("readlink -v $M/snapshots/latest", saying: "No such file or directory")
            try sandbox.fails("mkdir $M/snapshots/latest", saying: "File exists")
            #expect(try countRecords(sandbox) == "1200")
            #expect(try sandbox.sh("jq -r .successor $M/status.json").hasPrefix("\(Self.notice)\(sandbox.path)/new on "))
            #expect(try sandbox.sh("cat $S/mount.log") == "")
            // An explicitly named backup is used.
            try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses'; cp $M/snapshots/a/export.json $M/restore/")
            #expect(try countRecords(sandbox) == "1200")
            #expect(try sandbox.sh("cat $S/mount.log").hasPrefix("warning: \(Self.notice)"))
            // With its safety backup the store has begun its own line of backups.
            #expect(
                try sandbox.sh("mkdir $M/snapshots/mine; readlink $M/snapshots/latest; jq -r .successor $M/status.json")
                    == "mine\nnull")
            try sandbox.sh("cp $M/snapshots/latest/export.json $M/restore/again.json")
            try sandbox.unmount()
        }
    }

    @Test func `a mount says at its start that another store continues its backups`() throws {
        try sandbox { sandbox in
            try sandbox.sh(Self.takeOver)
            let mounted = try sandbox.run("backupfs mount --store $S $M")
            #expect(mounted.exitCode == 0 && mounted.text.ranges(of: Self.notice).count == 1, "\(mounted.text)")
            #expect(try sandbox.sh("cat $S/mount.log").hasPrefix("warning: \(Self.notice)"))
            #expect(try sandbox.sh("ls -a $M/snapshots | grep -c latest || true") == "0")
            try sandbox.unmount()
        }
    }

    @Test func `latest is this store's own also for who holds the link`() throws {
        try sandbox { sandbox in
            try sandbox.mount()
            try sandbox.sh(
                """
                backupfs init --store $R/beside --repository $R/nas --new-source; backupfs backup --label theirs --store $R/beside
                """)
            #expect(try sandbox.sh("ls $M/snapshots | paste -sd' '; readlink $M/snapshots/latest") == "a b latest theirs\nb")
            try sandbox.unmount()
        }
    }
}
