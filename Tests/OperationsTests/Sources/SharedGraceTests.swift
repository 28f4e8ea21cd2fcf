import BackupRepository
import TestSupport
import Testing

@testable import Operations

/// How long one store's removed backups stay when another store prunes their repository.
struct SharedGraceTests {
    private static func at(_ day: String) -> [String: String] { ["BACKUPFS_NOW": "\(day)T10:00:00Z"] }

    /// Gaps of at most a quarter of a year in the first year, and of at most a quarter of ten years after it.
    private static let seenDays = [
        "2026-04-01", "2026-07-01", "2026-09-30", "2026-12-29", "2028-07-01", "2030-12-30", "2033-06-29", "2035-11-30",
    ]

    /// A store with the backups `a`, `b` and `c`, and another one, `$R/other`, with its backups in the same repository.
    private static func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withThreeBackups(at("2026-01-01"))
        try sandbox.sh(
            """
            backupfs init --store $R/other --repository $S/repository --sample --new-source
            backupfs config set retention off --store $R/other
            backupfs backup --label mine --store $R/other
            """, at("2026-01-01"))
        return sandbox
    }

    /// Whether `a` still exists after the other store has pruned.
    private func stays(_ sandbox: Sandbox, on day: String) throws -> Bool {
        // A clock that jumps ahead by a year is not trusted, so the other store sees it advance in steps.
        let known = try sandbox.sh("backupfs snapshots --json --store $R/other | jq -r '.[].name'").split(separator: "\n")
        for seen in Self.seenDays where seen < day && !known.contains(seen[...]) {
            try sandbox.sh("backupfs backup --label \(seen) --store $R/other", Self.at(seen))
        }
        try sandbox.sh("backupfs prune --max-unused 0 --store $R/other", Self.at(day))
        return try sandbox.sh("backupfs snapshots --removed --json --store $S | jq length", Self.at(day)) == "1"
    }

    /// The text of the settings in the repository, with a change that a later program could have made; and two days: `a` stays
    /// until the first, and is gone on the second.
    @Test(
        arguments: Rounds.part(
            of: [
                ("undelete-days: \"365\"\nkeep-forever: \"yes\"\n", "2026-12-30", "2027-01-05"),
                ("undelete-days: \"365\"\nlog-level: \"loud\"\n", "2026-12-30", "2027-01-05"),
                ("keep-forever: \"yes\"\n", "2035-12-01", "2036-01-05"),
                ("undelete-days: \"long\"\n", "2035-12-01", "2036-01-05"),
                ("undelete-days: [365]\n", "2035-12-01", "2036-01-05"), ("a: {\n", "2035-12-01", "2036-01-05"),
            ], oneIn: 3))
    func `settings that another store does not understand do not cut the time short`(
        settings: String, last: String, after: String
    ) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("backupfs delete a --yes --store $S", Self.at("2026-01-02"))
        let store = try Store.open(sandbox.storePath)
        var document = try #require(try store.repository.source(store.source))
        document.settings = document.settings.replacing("undelete-days", with: "unused") + settings
        try store.repository.write(document)
        #expect(try stays(sandbox, on: last))
        #expect(try !stays(sandbox, on: after))
    }

    @Test func `a document that is missing does not cut the time short, and a check names it`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs config set undelete-days 365 --store $S; backupfs delete a --yes --store $S
            backupfs check --store $R/other; rm $S/repository/sources/$(sed -n 's/^source: //p' $S/identity).source
            """, Self.at("2026-01-02"))
        let check = try sandbox.run("backupfs check --store $R/other", Self.at("2026-01-03"))
        #expect(
            check.exitCode == 1 && check.output.contains("what the repository knows of a source of backups is missing"),
            "\(check)")
        #expect(try stays(sandbox, on: "2035-12-01"))
        // Its own store knows the right time, once it has seen that time pass.
        for seen in Self.seenDays.prefix(4) { try sandbox.sh("backupfs backup --label own-\(seen) --store $S", Self.at(seen)) }
        #expect(
            try sandbox.sh(
                "backupfs prune --store $S >/dev/null; backupfs snapshots --removed --json --store $S | jq length",
                Self.at("2027-01-05"))
                == "0")
    }

    /// The content of the lost settings may never be known.
    @Test func `a store that adopts backups with unreadable settings keeps removed ones for the longest time`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            "backupfs config set undelete-days 365 --store $S; backupfs delete a --yes --store $S", Self.at("2026-01-02"))
        let told = try sandbox.sh(
            """
            source=$(sed -n 's/^source: //p' $S/identity); mv $S/repository $R/repository
            printf XXXX | dd of=$R/repository/sources/$source.source bs=1 seek=300 conv=notrunc status=none
            cp $R/repository/sources/$source.source $R/damaged; rm -r $S
            backupfs init --store $S --repository $R/repository --adopt $source --app ev-charging-tracker
            backupfs config get undelete-days --store $S
            backupfs backup --label new --store $S >/dev/null; cmp $R/damaged $R/repository/damaged/$source.source
            """, Self.at("2026-01-03"))
        #expect(told.contains("can be brought back for 3,650 days") && told.hasSuffix("3650"), "\(told)")
        #expect(
            try sandbox.sh(
                "backupfs prune --store $S >/dev/null; backupfs snapshots --removed --json --store $S | jq length",
                Self.at("2035-12-01"))
                == "1")
    }

    @Test func `a later format of the settings may mean something else by a time`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            "backupfs config set undelete-days 365 --store $S; backupfs delete a --yes --store $S", Self.at("2026-01-02"))
        let store = try Store.open(sandbox.storePath)
        var document = try #require(try store.repository.source(store.source))
        document.settings.replace("formatVersion: \"1\"", with: "formatVersion: \"2\"")
        try store.repository.write(document)
        #expect(try stays(sandbox, on: "2035-12-01"))
    }

    @Test(arguments: [
        // By a command, after the removal or before.
        "backupfs delete a --yes --store $S; backupfs config set undelete-days 365 --store $S",
        """
        backupfs config set undelete-days 365 --store $S; backupfs delete a --yes --store $S
        backupfs config set undelete-days 1 --store $S; backupfs config set undelete-days 365 --store $S
        """,
        // With an editor, before the removal.
        "sed -i 's/^# undelete-days:.*/undelete-days: \"365\"/' $S/store.yaml; backupfs delete a --yes --store $S",
        "sed -i 's/^# undelete-days:.*/undelete-days: \"365\"/' $S/store.yaml; backupfs forget a --yes --store $S",
    ])
    func `a longer time counts before the next backup`(change: String) throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(change, Self.at("2026-01-02"))
        #expect(try stays(sandbox, on: "2026-12-30"))
        #expect(try !stays(sandbox, on: "2027-01-05"))
    }

    @Test func `a shorter time is one again when the setting is taken back`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh(
            """
            backupfs config set undelete-days 365 --store $S; backupfs delete a --yes --store $S
            backupfs config unset undelete-days --store $S
            """, Self.at("2026-01-02"))
        #expect(try stays(sandbox, on: "2026-01-08"))
        #expect(try !stays(sandbox, on: "2026-01-10"))
    }

    @Test func `a store that is not the one that makes the backups does not write its settings down`() throws {
        let sandbox = try Self.makeSandbox()
        let document = "$S/repository/sources/$(sed -n 's/^source: //p' $S/identity).source"
        let sum = try sandbox.sh("sha256sum < \(document)")
        // A store that has adopted them and was not used since, and settings that are cut off.
        try sandbox.sh(
            """
            source=$(sed -n 's/^source: //p' $S/identity)
            backupfs init --store $R/quiet --repository $S/repository --adopt $source
            backupfs config set undelete-days 1 --store $R/quiet
            cp $S/store.yaml $R/whole; sed -i '/^# End of settings/d' $S/store.yaml
            backupfs config set undelete-days 2 --store $S; cp $R/whole $S/store.yaml
            """)
        #expect(try sandbox.sh("sha256sum < \(document)") == sum)
        // A copy of the store, after the original has continued.
        try sandbox.sh(
            """
            sqlite3 $R/app.sqlite 'create table t(id integer primary key)'
            backupfs init --store $R/one --database $R/app.sqlite --repository $R/disk; backupfs backup --store $R/one
            cp -a $R/one $R/copy; backupfs backup --store $R/one; sha256sum $R/disk/sources/* > $R/sum
            backupfs config set undelete-days 1 --store $R/copy; sha256sum --quiet -c $R/sum
            backupfs config set undelete-days 30 --store $R/one; ! sha256sum --status -c $R/sum
            """)
    }

    @Test func `a setting is in force although it cannot be written into the repository`() throws {
        let sandbox = try Self.makeSandbox()
        try sandbox.sh("mv $S/repository $R/away")
        let away = try sandbox.run("backupfs config set undelete-days 30 --store $S")
        #expect(away.exitCode == 0 && away.errors.contains("learn this with the next backup: "), "\(away)")
        #expect(try sandbox.run("backupfs config set keep-last 3 --store $S").errors == "")
        #expect(
            try sandbox.sh("backupfs config get undelete-days --store $S; backupfs config get keep-last --store $S") == "30\n3")
    }

    @Test func `an encrypted repository learns it with the password only, and no user is asked for that`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            printf 'secret\\n' > $R/password; chmod 600 $R/password
            backupfs init --encrypt --password-file $R/password --store $S --sample
            backupfs backup --store $S --password-file $R/password; sha256sum $S/repository/sources/* > $R/sum
            """)
        let without = try sandbox.run("backupfs config set undelete-days 30 --store $S </dev/null; sha256sum --quiet -c $R/sum")
        #expect(without.exitCode == 0 && without.errors.contains("no password was given"), "\(without)")
        let with = try sandbox.run("backupfs config set undelete-days 31 --store $S --password-file $R/password")
        #expect(with.exitCode == 0 && with.errors == "", "\(with)")
        try sandbox.sh("! sha256sum --status -c $R/sum")
    }
}
