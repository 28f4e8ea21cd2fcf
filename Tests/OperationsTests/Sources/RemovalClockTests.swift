import TestSupport
import Testing

/// Prunes started by a user while the clock is far ahead: backups that were not named can be brought back afterwards.
struct RemovalClockTests {
    private static func at(_ day: String) -> [String: String] { ["BACKUPFS_NOW": "\(day)T12:00:00Z"] }
    private static let start = at("2026-06-01")
    private static let ahead = at("2027-06-01")
    private static let next = at("2026-06-02")

    /// The store `$S` has removed `a`, with 30 days to bring it back. `$R/other` has the backups `x` and `y` in the same
    /// repository, and has removed `w`.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withThreeBackups(start)
        try sandbox.sh(
            """
            backupfs config set undelete-days 30 --store $S; backupfs delete a --yes --store $S
            sqlite3 $R/other.sqlite 'create table t(id integer primary key, x text)'
            backupfs init --store $R/other --repository $S/repository --database $R/other.sqlite --new-source
            for name in w x y; do
                sqlite3 $R/other.sqlite 'insert into t(x) values (hex(randomblob(200)))'; backupfs backup --label $name --store $R/other
            done
            backupfs delete w --yes --store $R/other
            """, start)
        return sandbox
    }

    private static let notice = "2 removed backups stay, though their time is over by the clock."

    @Test(arguments: [
        ["delete x --now --yes"], ["prune --max-unused 0"],
        // The store first makes a backup by that clock.
        ["backup --label late", "forget x --prune --yes"], ["backup --label late", "forget --keep-last 2 --prune --yes"],
    ])
    func `what was not named can be brought back when the clock is right again`(commands: [String]) throws {
        let sandbox = try Self.makeSandbox()
        var said = ""
        for command in commands {
            let result = try sandbox.run("backupfs \(command) --store $R/other", Self.ahead)
            #expect(result.exitCode == 0, "\(result)")
            said = result.output + result.errors
        }
        #expect(said.contains(Self.notice), "\(said)")
        try sandbox.sh("backupfs undelete a --store $S; backupfs undelete w --store $R/other", Self.next)
        try sandbox.sh(
            "backupfs restore a --target $R/a --store $S; backupfs restore w --target $R/w --store $R/other", Self.next)
        #expect(try sandbox.run("backupfs check --read-data --store $S", Self.next).exitCode == 0)
    }

    @Test func `a prune says how many stay, and can give up this store's own at once`() throws {
        let sandbox = try Self.makeSandbox()
        let count = "backupfs prune --dry-run --json --store $R/other | tail -1 | jq .removed_held_by_clock"
        #expect(try sandbox.sh(count, Self.next) == "0")
        #expect(try sandbox.sh(count, Self.ahead) == "2")
        let said = try sandbox.sh("backupfs prune --now --max-unused 0 --store $R/other", Self.ahead)
        #expect(said.contains("1 removed backup stays, though its time is over by the clock."), "\(said)")
        let removed = "backupfs snapshots --removed --json --store $S | jq -r 'map(.name) | join(\" \")'"
        #expect(try sandbox.sh(removed, Self.next) == "a")
    }

    /// A month between two readings of the clock is trusted.
    @Test func `a store that makes few backups frees the space in time`() throws {
        let sandbox = try Self.makeSandbox()
        let removed = "backupfs snapshots --removed --json --store $S | jq -r 'map(.name) | join(\" \")'"
        #expect(
            !(try sandbox.sh("backupfs prune --max-unused 0 --store $R/other", Self.at("2026-06-30")).contains("removed backup")))
        #expect(try sandbox.sh(removed) == "a")
        try sandbox.sh("backupfs prune --max-unused 0 --store $R/other", Self.at("2026-07-02"))
        #expect(try sandbox.sh(removed) == "")
    }
}
