import TestSupport
import Testing

/// Removed backups can be brought back for a time, whatever removed them; until then a prune deletes none of their data.
struct UndeleteTests {
    /// Three different backups, a, b and c; the reference copy of each is in `$R/copy-a` and so on.
    private func makeSandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withThreeBackups(Self.at(1))
        try sandbox.sh("for n in a b c; do backupfs restore $n --target $R/copy-$n --store $S >/dev/null; done", Self.at(1))
        return sandbox
    }

    private static func at(_ day: Int) -> [String: String] {
        ["BACKUPFS_NOW": "2026-01-\(day < 10 ? "0" : "")\(day)T10:00:00Z"]
    }

    private func names(_ sandbox: Sandbox, _ option: String = "") throws -> String {
        try sandbox.sh("backupfs snapshots \(option) --json --store $S | jq -r '[.[].name] | join(\" \")'")
    }

    private func isWhole(_ sandbox: Sandbox, _ name: String) throws -> Bool {
        try sandbox.sh(
            "rm -rf $R/back; backupfs restore \(name) --target $R/back --store $S >/dev/null; diff -r $R/back $R/copy-\(name)")
            == ""
    }

    @Test func `a removed backup comes back whole within the time, though it was pruned meanwhile`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("backupfs forget a --yes --store $S; backupfs delete b --yes --store $S", Self.at(2))
        #expect(try names(sandbox) == "c")
        #expect(try names(sandbox, "--removed") == "a b")
        #expect(
            try sandbox.sh(
                "backupfs snapshots --removed --json --store $S | jq -r '.[] | [.removed_at, .stays_until] | join(\" \")'")
                == "2026-01-02T10:00:00Z 2026-01-09T10:00:00Z\n2026-01-02T10:00:00Z 2026-01-09T10:00:00Z")
        #expect(try sandbox.sh("backupfs status --json --store $S | jq .removedBackupCount") == "2")
        #expect(try sandbox.sh("backupfs status --store $S").contains("Removed backups that can be brought back: 2"))
        try sandbox.sh("backupfs prune --max-unused 0 --store $S", Self.at(8))
        #expect(try sandbox.sh("backupfs undelete a b --store $S", Self.at(8)) == "Brought back a\nBrought back b")
        #expect(try names(sandbox) == "a b c")
        #expect(try names(sandbox, "--removed") == "")
        #expect(try isWhole(sandbox, "a") && isWhole(sandbox, "b") && isWhole(sandbox, "c"))
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }

    @Test func `after the time a prune frees the space, and not before`() throws {
        let sandbox = try makeSandbox()
        let size = "du -s --block-size=1 $S/repository/packs | cut -f1"
        let before = try #require(Int(try sandbox.sh(size)))
        try sandbox.sh("backupfs delete a b --yes --store $S", Self.at(2))
        let unused = "backupfs prune --dry-run --max-unused 0 --json --store $S | tail -1 | jq .packs_removed"
        #expect(try sandbox.sh(unused, Self.at(8)) == "0")
        #expect(try sandbox.sh(unused, Self.at(10)) != "0")
        try sandbox.sh("backupfs prune --max-unused 0 --store $S", Self.at(8))
        #expect(try Int(sandbox.sh(size)) == before)
        try sandbox.sh("backupfs prune --max-unused 0 --store $S", Self.at(10))
        #expect(try #require(Int(try sandbox.sh(size))) < before)
        #expect(try names(sandbox, "--removed") == "")
        #expect(
            try sandbox.sh("ls $S/repository/removed $S/repository/labels")
                == "\(sandbox.storePath)/repository/labels:\n\n\(sandbox.storePath)/repository/removed:")
        let late = try sandbox.run("backupfs undelete a --store $S", Self.at(10))
        #expect(late.exitCode == 1 && late.errors.contains("no removed backup has this name"), "\(late.errors)")
        #expect(try isWhole(sandbox, "c"))
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }

    @Test func `what the rule removes comes back, pinned and tagged as it was, and the log says which rule it was`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs tag a --add precious --store $S
            backupfs config set retention-counts all --store $S; backupfs config set keep-last 2 --store $S
            backupfs backup --label d --store $S
            """, Self.at(2))
        #expect(try names(sandbox) == "c d")
        #expect(try names(sandbox, "--removed") == "a b")
        let log = try sandbox.sh(
            "jq -r 'select(.op == \"retention\") | [.phase, .snapshot, .rule] | join(\" \")' $S/backupfs.log")
        #expect(log == "removed a keep-last 2\nremoved b keep-last 2", "\(log)")
        let dry = try sandbox.sh("backupfs forget --dry-run --keep-last 1 --store $S")
        #expect(dry.contains("kept by none of: keep-last 1"), "\(dry)")
        try sandbox.sh("backupfs undelete a --store $S", Self.at(3))
        #expect(try sandbox.sh("backupfs snapshots --tag precious --json --store $S | jq -r '.[].name'") == "a")
        #expect(try isWhole(sandbox, "a"))
    }

    @Test func `what was brought back is not removed by the next backup`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs config set retention-counts all --store $S; backupfs config set keep-last 3 --store $S
            backupfs backup --label d --store $S
            """, Self.at(2))
        #expect(try names(sandbox) == "b c d")
        let answer = try sandbox.sh("backupfs undelete a --store $S", Self.at(3))
        #expect(answer.hasPrefix("Brought back a\nIt is pinned now") && answer.hasSuffix("backupfs unpin a"), "\(answer)")
        try sandbox.sh("backupfs backup --label e --store $S", Self.at(4))
        #expect(try names(sandbox) == "a c d e")
        // The rule keeps all of three, but would not after the next backup.
        try sandbox.sh(
            "backupfs delete c --yes --store $S; backupfs unpin a --store $S; backupfs delete a --yes --store $S", Self.at(4))
        #expect(try sandbox.sh("backupfs undelete c --json --store $S | jq .pinned", Self.at(4)) == "true")
        // Without a rule, nothing is pinned; nor is what the rule keeps.
        try sandbox.sh(
            "backupfs unpin c --store $S; backupfs delete c --yes --store $S; backupfs config set keep-last 9 --store $S",
            Self.at(4))
        #expect(try sandbox.sh("backupfs undelete c --store $S", Self.at(4)) == "Brought back c")
        try sandbox.sh("backupfs config set retention off --store $S; backupfs config set keep-last 1 --store $S", Self.at(4))
        #expect(try sandbox.sh("backupfs undelete a --store $S", Self.at(4)) == "Brought back a")
    }

    @Test(.enabled(if: MountPermission.isThere, "needs to mount"))
    func `what cannot be pinned for lack of space stays removed, and is not lost with the next backup`() throws {
        let sandbox = try Sandbox()
        try sandbox.write(
            """
            set -e
            mkdir $R/disk; mount -t tmpfs -o size=3m none $R/disk
            sqlite3 $R/app.sqlite 'create table t(id integer primary key, x text)'
            backupfs init --store $S --database $R/app.sqlite --repository $R/disk/r >/dev/null
            backupfs config set keep-last 2 --store $S; backupfs config set retention-counts all --store $S
            for i in 1 2 3; do sqlite3 $R/app.sqlite 'insert into t(x) values(1)'; backupfs backup --label b$i --store $S >/dev/null; done
            dd if=/dev/zero of=$R/disk/fill bs=4k 2>/dev/null || true
            ! backupfs undelete b1 --store $S 2>/dev/null
            backupfs snapshots --json --store $S | jq -r 'map(.name) | join(" ")'
            rm $R/disk/fill; backupfs backup --label b4 --store $S >/dev/null
            backupfs undelete b1 --store $S; backupfs backup --label b5 --store $S >/dev/null
            backupfs snapshots --json --store $S | jq -r '.[].name'
            """, to: "script.sh")
        let result = try sandbox.run("unshare -m --propagation private bash $R/script.sh")
        #expect(result.exitCode == 0 && result.output.hasPrefix("b2 b3\nBrought back b1\nIt is pinned now"), "\(result)")
        #expect(result.output.hasSuffix("b1\nb4\nb5\n"), "\(result)")
    }

    @Test func `delete --now is for good: the backups, those that were deleted before, and their data`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("backupfs delete a --yes --store $S", Self.at(2))
        #expect(try sandbox.sh("backupfs delete b --now --yes --store $S", Self.at(2)).hasSuffix("Deleted b"))
        #expect(try names(sandbox, "--removed") == "a")
        // First a deleted backup by name, then everything.
        #expect(try sandbox.sh("backupfs delete a --now --yes --store $S", Self.at(2)).hasSuffix("Deleted a"))
        #expect(try names(sandbox, "--removed") == "")
        #expect(try isWhole(sandbox, "c"))
        try sandbox.sh("backupfs delete --all --now --yes --store $S", Self.at(2))
        #expect(try sandbox.sh("find $S/repository -name '*.pack' -o -name '*.snapshot' -o -name '*.label'") == "")
    }

    /// In a mount `latest` is a link, and hidden files are not listed: a backup with such a name could not be reached there.
    @Test(arguments: ["latest", ".hidden", "a\nb", "a/b", ""])
    func `what a backup cannot be called, it is not called when it comes back`(name: String) throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("backupfs delete a --yes --store $S", Self.at(2))
        let backup = try sandbox.run("backupfs backup --label \"$NAME\" --store $S", ["NAME": name])
        let undelete = try sandbox.run("backupfs undelete a --as \"$NAME\" --store $S", ["NAME": name])
        #expect(undelete.exitCode == backup.exitCode && undelete.exitCode != 0, "\(backup) \(undelete)")
        #expect(try names(sandbox) == "b c")
        try sandbox.sh("backupfs undelete a --as 'another name' --store $S", Self.at(2))
        #expect(try isWhole(sandbox, "b"))
        #expect(try names(sandbox) == "another name b c")
    }

    @Test func `another backup of the same name does not hide a removed one`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("backupfs delete a --yes --store $S; backupfs backup --label a --store $S", Self.at(2))
        let taken = try sandbox.run("backupfs undelete a --store $S", Self.at(3))
        #expect(taken.exitCode == 1 && taken.errors.contains("--as NAME"), "\(taken.errors)")
        #expect(try names(sandbox, "--removed") == "a")
        let id = try sandbox.sh("backupfs snapshots --removed --json --store $S | jq -r '.[0].id[:8]'")
        try sandbox.sh("backupfs undelete \(id) --as old-a --store $S; mv $R/copy-a $R/copy-old-a", Self.at(3))
        #expect(try names(sandbox) == "b c old-a a")
        try sandbox.sh(
            "rm $R/copy-old-a/manifest.json; backupfs restore old-a --target $R/back --store $S; rm $R/back/manifest.json")
        #expect(try sandbox.sh("diff -r $R/back $R/copy-old-a") == "")
    }

    @Test(arguments: ["2100-01-01T00:00:00Z", "1970-01-02T00:00:00Z"])
    func `an automatic prune by a wrong clock takes nothing that can be brought back`(now: String) throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs config set schedule daily --store $S
            backupfs delete a --yes --store $S; backupfs backup --if-due --store $S
            """, Self.at(2))
        _ = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now])
        _ = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": String(now.dropLast(13)) + "9T00:00:00Z"])
        #expect(try names(sandbox, "--removed").contains("a"))
        try sandbox.sh("backupfs undelete a --store $S", Self.at(3))
        #expect(try isWhole(sandbox, "a"))
    }

    @Test func `a removal by a clock that is behind does not end the time at once`() throws {
        let sandbox = try makeSandbox()
        // A machine without a clock battery may have this time until the network corrects it.
        let behind = ["BACKUPFS_NOW": "1970-01-01T00:03:00Z"]
        try sandbox.sh("backupfs delete a --yes --store $S; backupfs prune --max-unused 0 --store $S", behind)
        let removed = "backupfs snapshots --removed --json --store $S | jq -r '.[] | [.removed_at, .stays_until] | join(\" \")'"
        #expect(try sandbox.sh(removed, Self.at(20)) == " 2026-01-27T10:00:00Z")
        #expect(try sandbox.sh("backupfs snapshots --removed --store $S", Self.at(20)).contains("unknown"))
        // The first prune by a right clock starts the period.
        try sandbox.sh("backupfs prune --max-unused 0 --store $S", Self.at(20))
        #expect(try sandbox.sh(removed, Self.at(26)) == "2026-01-20T10:00:00Z 2026-01-27T10:00:00Z")
        try sandbox.sh("backupfs prune --max-unused 0 --store $S; backupfs undelete a --store $S", Self.at(26))
        #expect(try isWhole(sandbox, "a"))
        try sandbox.sh("backupfs delete a --yes --store $S", behind)
        try sandbox.sh("backupfs prune --store $S", Self.at(2))
        try sandbox.sh("backupfs prune --store $S", Self.at(9))
        #expect(try names(sandbox, "--removed") == "")
    }

    /// The clock jumps by less than the month that stops an automatic prune.
    @Test func `an automatic prune does not count the days that a clock jumped over`() throws {
        let sandbox = try makeSandbox()
        func backUp(_ day: Int) throws {
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite "update expenses set notes = '\(day) ' || hex(randomblob(200))"
                backupfs backup --if-due --store $S
                """, Self.at(day))
        }
        try sandbox.sh("backupfs config set schedule daily --store $S; backupfs config set retention off --store $S")
        try backUp(2)
        try sandbox.sh("backupfs delete a --yes --store $S", Self.at(3))
        for day in 3...5 { try backUp(day) }
        // Two days after the removal it appears to be three weeks later, and stays that way.
        for day in 25...28 { try backUp(day) }
        #expect(try names(sandbox, "--removed") == "a")
        #expect(try sandbox.sh("jq -r 'select(.op == \"prune\") | .phase' $S/backupfs.log | sort -u") != "")
        try sandbox.sh("backupfs undelete a --store $S; backupfs delete b --yes --store $S", Self.at(28))
        #expect(try isWhole(sandbox, "a"))
        // Days on which the clock was seen count.
        for day in 1...9 {
            try sandbox.sh(
                """
                sqlite3 $S/app/database.sqlite "update expenses set notes = '\(day) ' || hex(randomblob(200))"
                backupfs backup --if-due --store $S
                """, ["BACKUPFS_NOW": "2026-02-0\(day)T10:00:00Z"])
        }
        #expect(try names(sandbox, "--removed") == "")
    }

    @Test func `a backup of the future does not keep removed ones without a word`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("backupfs backup --label future --store $S", ["BACKUPFS_NOW": "2100-01-01T00:00:00Z"])
        try sandbox.sh("backupfs delete a --yes --store $S", Self.at(2))
        let prune = "backupfs prune --max-unused 0 --store $S"
        let said = try sandbox.sh(prune, Self.at(20))
        #expect(said.contains("1 removed backup stays") && said.contains("“future”"), "\(said)")
        #expect(try sandbox.sh("\(prune) --json | tail -1 | jq .removed_without_time", Self.at(20)) == "1")
        #expect(try names(sandbox, "--removed") == "a")
        // Without it the time can be known: for both, although one was made later than it was removed.
        try sandbox.sh("backupfs delete future --yes --store $S", Self.at(20))
        #expect(!(try sandbox.sh(prune, Self.at(20)).contains("removed backup")))
        let until = "backupfs snapshots --removed --json --store $S | jq -r '[.[].stays_until] | unique | join(\" \")'"
        #expect(try sandbox.sh(until, Self.at(21)) == "2026-01-27T10:00:00Z")
        try sandbox.sh(prune, Self.at(28))
        #expect(try names(sandbox, "--removed") == "")
    }

    @Test func `of two removed backups of one name none is taken while it is not known which was removed last`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh("backupfs delete a --yes --store $S", ["BACKUPFS_NOW": "1970-01-01T00:03:00Z"])
        try sandbox.sh("backupfs backup --label a --store $S; backupfs delete a --yes --store $S", Self.at(2))
        for command in ["undelete a", "delete a --now --yes"] {
            let refused = try sandbox.run("backupfs \(command) --store $S", Self.at(3))
            #expect(refused.exitCode == 1, "\(command): \(refused.errors)")
            let ids = try sandbox.sh("backupfs snapshots --removed --json --store $S | jq -r '.[].id[:12]'").split(
                separator: "\n")
            #expect(ids.count == 2 && ids.allSatisfy { refused.errors.contains($0) }, "\(refused.errors)")
        }
        func id(_ condition: String) throws -> String {
            try sandbox.sh(
                "backupfs snapshots --removed --json --store $S | jq -r '.[] | select(.removed_at \(condition) null) | .id[:12]'")
        }
        let (first, last) = (try id("=="), try id("!="))
        try sandbox.sh("backupfs delete \(last) --now --yes --store $S; backupfs undelete \(first) --store $S", Self.at(3))
        #expect(try names(sandbox) == "a b c")
        #expect(try isWhole(sandbox, "a"))
    }

    @Test func `a store does not cut short the time of another one's backups`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs config set undelete-days 30 --store $S; backupfs backup --label d --store $S; backupfs delete a --yes --store $S
            backupfs init --store $R/other --repository $S/repository --new-source
            backupfs config set undelete-days 0 --store $R/other
            backupfs backup --label mine --store $R/other; backupfs delete mine --yes --store $R/other
            """, Self.at(2))
        try sandbox.sh("backupfs prune --max-unused 0 --now --store $R/other", Self.at(20))
        #expect(try names(sandbox, "--removed") == "a")
        try sandbox.sh("backupfs undelete a --store $S", Self.at(20))
        #expect(try isWhole(sandbox, "a"))
    }

    @Test func `a damaged record of another store's removed backup keeps its time`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs config set undelete-days 365 --store $S; backupfs backup --label d --store $S; backupfs delete a --yes --store $S
            backupfs init --store $R/other --repository $S/repository --new-source
            backupfs config set undelete-days 0 --store $R/other
            """, Self.at(2))
        let record = try sandbox.sh("echo $S/repository/removed/*")
        try sandbox.sh("cp -p \(record) $R/kept; touch -r \(record) $R/time")
        func flip(_ offsets: [Int]) throws {
            for offset in offsets { try Damage.flip(record, at: offset) }
            try sandbox.sh("touch -r $R/time \(record)")
        }
        try flip([20])
        #expect(try sandbox.run("backupfs check --store $R/other").output.contains(record))
        try sandbox.sh("backupfs check --repair --yes --store $R/other; cmp \(record) $R/kept", Self.at(20))
        try flip([20, 90])
        for command in ["prune", "prune --now"] {
            let refused = try sandbox.run("backupfs \(command) --max-unused 0 --store $R/other", Self.at(20))
            #expect(refused.exitCode == 1 && refused.errors.contains("\(record): nothing was pruned"), "\(refused.errors)")
        }
        let unknown = try sandbox.run("backupfs undelete a --store $S", Self.at(20))
        #expect(unknown.exitCode == 1 && unknown.errors.contains("check --repair"), "\(unknown.errors)")
        try sandbox.sh("cp -p $R/kept \(record); backupfs prune --now --max-unused 0 --store $R/other", Self.at(20))
        try sandbox.sh("backupfs undelete a --store $S", Self.at(20))
        #expect(try isWhole(sandbox, "a"))
    }

    @Test func `a repository with packs and no backup is not pruned unless it is said`() throws {
        let sandbox = try makeSandbox()
        // As an interrupted copy looks.
        try sandbox.sh("cp -a $S/repository/snapshots $R/snapshots; rm $S/repository/snapshots/*")
        let refused = try sandbox.run("backupfs prune --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("no backup"), "\(refused.errors)")
        try sandbox.sh("cp -a $R/snapshots/. $S/repository/snapshots/")
        #expect(try isWhole(sandbox, "a") && isWhole(sandbox, "b") && isWhole(sandbox, "c"))
        try sandbox.sh("rm $S/repository/snapshots/*; backupfs prune --empty --store $S")
        #expect(try sandbox.sh("find $S/repository/packs -name '*.pack'") == "")
    }

    @Test(arguments: ["backup.begun", "forget.removed", "prune.removed-given-up", "prune.pack-unlinked"])
    func `a kill in the middle leaves each backup in one place`(point: String) throws {
        let sandbox = try makeSandbox()
        _ = try sandbox.run(
            "backupfs delete a --yes --store $S; backupfs delete b --yes --store $S; backupfs backup --label d --store $S",
            Self.at(2).merging(["BACKUPFS_FAULT": "\(point)=kill"]) { $1 })
        _ = try sandbox.run(
            "backupfs prune --max-unused 0 --store $S", Self.at(12).merging(["BACKUPFS_FAULT": "\(point)=kill"]) { $1 })
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
        for name in try names(sandbox).split(separator: " ") where name != "d" { #expect(try isWhole(sandbox, String(name))) }
        let removed = try names(sandbox, "--removed")
        for name in removed.split(separator: " ") { try sandbox.sh("backupfs undelete \(name) --store $S", Self.at(12)) }
        for name in removed.split(separator: " ") { #expect(try isWhole(sandbox, String(name))) }
        #expect(try isWhole(sandbox, "c"))
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }
}
