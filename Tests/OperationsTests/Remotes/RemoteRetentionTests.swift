import TestSupport
import Testing

/// Rules of a remote, and removals from it by hand, with folders.
@Suite(.rotating(oneIn: 3)) struct RemoteRetentionTests {
    private func store(_ settings: [String] = []) throws -> SyncSandbox {
        let store = try SyncSandbox("$R/cloud", settings)
        try store.sandbox.sh(
            """
            mkdir $R/cloud; sed -i "s|\\$R/cloud|$R/cloud|" $S/store.yaml
            backupfs config set retention off --store $S; backupfs config set retention-counts all --store $S
            """)
        return store
    }

    /// Makes a backup with other data on a day of January 2026, or at another time, which is uploaded. The day is after those in
    /// the sample data.
    @discardableResult
    private func backUp(_ store: SyncSandbox, _ day: Int, at time: String? = nil) throws -> Job.Result {
        try store.sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = hex(randomblob(60000)) WHERE key = 'device_name'\"")
        let time = time ?? "2026-01-\(10 + day)T12:00:00Z"
        return try store.sandbox.run("backupfs backup --label day-\(day) --store $S", ["BACKUPFS_NOW": time])
    }

    private func names(_ store: SyncSandbox, _ option: String = "--remote cloud") throws -> String {
        try store.sandbox.sh("backupfs snapshots --json \(option) --store $S | jq -r '.[].name' | sort | paste -sd ' '")
    }

    /// Every byte in the remote.
    private func expectSound(_ store: SyncSandbox) throws {
        let check = try store.sandbox.run("backupfs check --read-data --remote cloud --store $S")
        #expect(check.exitCode == 0 && check.output.contains("No damage was found."), "\(check.text)")
    }

    @Test func `rules of a remote keep the newest and pinned backups there, and all stay here`() throws {
        let store = try store([#"keep-last: \"2\""#])
        for day in 1...5 {
            let made = try backUp(store, day)
            #expect(made.exitCode == 0 && made.errors == "", "\(made.text)")
        }
        #expect(try names(store) == "day-4 day-5")
        #expect(try names(store, "") == "day-1 day-2 day-3 day-4 day-5")
        #expect(
            try store.status("[.state, .snapshotCount, .removedSnapshots, .lastRemoval, .notice, .pendingSnapshots]")
                == #"["upToDate",2,1,"2026-01-15T12:00:00Z",null,0]"#)
        let forget = "jq -c '.[] | select(.operation == \"forget\") | [.removed, .remote, .automatic]' | tail -1"
        #expect(try store.sandbox.sh("backupfs history --json --store $S | \(forget)") == #"[1,"cloud",true]"#)
        #expect(
            try store.sandbox.sh("backupfs status --store $S").contains(
                "Removed from iCloud by its rules: backups: 1; 2026-01-15"))
        #expect(try store.sandbox.sh("backupfs remote list --store $S | tail -1 | tr -s ' '").contains("yes keep-last 2 /"))
        // Pinned here: it comes back, and what is there already is not uploaded again.
        try store.sandbox.sh("backupfs pin day-1 --store $S")
        let now = ["BACKUPFS_NOW": "2026-01-15T13:00:00Z"]
        let pinned = try store.sync("", now)
        #expect(pinned.exitCode == 0 && pinned.output.contains("uploaded backups: 1 ("), "\(pinned.text)")
        #expect(try names(store) == "day-1 day-4 day-5")
        #expect(try store.sync("", now).output == "iCloud: nothing to upload. Backups there: 3\n")
        // Only there now, and pinned there.
        try store.sandbox.sh("backupfs unpin day-1 --store $S; backupfs delete day-1 --yes --store $S", now)
        try backUp(store, 6)
        try backUp(store, 7)
        #expect(try names(store) == "day-1 day-6 day-7")
        try expectSound(store)
        #expect(try store.sandbox.sh("ls $R/cloud/locks | wc -l") == "0")
    }

    @Test func `a removed backup comes back from a remote, or its space is freed in two steps`() throws {
        let store = try store([#"keep-last: \"1\""#])
        for day in 1...3 { try backUp(store, day) }
        #expect(try names(store) == "day-3")
        try store.sandbox.sh(
            "backupfs undelete day-2 --remote cloud --store $S", ["BACKUPFS_NOW": "2026-01-13T13:00:00Z"])
        #expect(try store.sync("", ["BACKUPFS_NOW": "2026-01-13T13:00:00Z"]).exitCode == 0)
        #expect(try names(store) == "day-2 day-3")
        func packCount() throws -> Int { try Int(store.sandbox.sh("find $R/cloud/packs -type f | wc -l")) ?? 0 }
        let before = try packCount()
        // By the real clock, it was removed just now.
        try store.sandbox.sh(
            "touch -d '2026-01-01 12:00' $R/cloud/removed/*; backupfs config set undelete-days 0 --store $S")
        for day in 4...5 { try backUp(store, day) }
        #expect(try store.sandbox.sh("ls $R/cloud/doomed | wc -l") != "0")
        #expect(try packCount() > before)
        let doomed = try store.sandbox.sh("grep -hE '^[0-9a-f]{64}$' $R/cloud/doomed/* | sort -u").split(separator: "\n")
        #expect(!doomed.isEmpty)
        func areThere() throws -> Set<Bool> {
            Set(try doomed.map { try !store.sandbox.sh("find $R/cloud/packs -name \($0).pack").isEmpty })
        }
        #expect(try areThere() == [true])
        try store.sandbox.sh("touch -d '2 days ago' $R/cloud/doomed/*")
        try backUp(store, 6)
        #expect(try areThere() == [false])
        #expect(
            try store.sandbox.sh(
                "backupfs history --json --store $S | jq -c '.[] | select(.operation == \"prune\") | [.result, .remote, .freed_bytes > 0]' | tail -1"
            ) == #"["ok","cloud",true]"#)
        #expect(try names(store) == "day-2 day-6")
        try expectSound(store)
    }

    @Test func `by hand, only what is not here any more is removed, and no sync brings it back`() throws {
        let store = try store()
        for day in 1...3 { try backUp(store, day) }
        let now = ["BACKUPFS_NOW": "2026-01-13T13:00:00Z"]
        let refused = try store.sandbox.run("backupfs delete day-1 --remote cloud --yes --store $S", now)
        #expect(refused.exitCode == 1 && refused.errors.contains("the backup is still here"), "\(refused.text)")
        #expect(try names(store) == "day-1 day-2 day-3")
        let planned = try store.sandbox.run("backupfs forget --keep-last 1 --remote cloud --dry-run --store $S", now)
        #expect(planned.output.contains("Would remove 0 backups."), "\(planned.text)")
        try store.sandbox.sh("backupfs delete day-1 day-2 --yes --store $S", now)
        let asked = try store.sandbox.run("backupfs delete day-1 --remote cloud --store $S </dev/null", now)
        #expect(asked.exitCode == 2 && asked.errors.contains("--yes"), "\(asked.text)")
        #expect(
            try store.sandbox.run("backupfs delete day-1 --remote cloud --yes --store $S", now).output == "Deleted day-1\n")
        #expect(try store.sync("", now).exitCode == 0)
        #expect(try names(store) == "day-2 day-3")
        let dry = try store.sandbox.run("backupfs forget --keep-last 1 --remote cloud --dry-run --store $S", now)
        #expect(dry.output.contains("Would remove 1 backup."), "\(dry.text)")
        try store.sandbox.sh("backupfs pin day-2 --remote cloud --store $S", now)
        let kept = try store.sandbox.run("backupfs forget --keep-last 1 --remote cloud --yes --store $S", now)
        #expect(kept.output.contains("Removed 0 backups."), "\(kept.text)")
        try store.sandbox.fails("backupfs pin day-3 --remote cloud --store $S", saying: "its pin comes from here", exitCode: 1)
        #expect(
            try store.sandbox.sh(
                "backupfs prune --remote cloud --now --max-unused 0 --json --store $S | tail -1 | jq -c '[.packs_removed, .packs_waiting > 0]'",
                now)
                == "[0,true]")
        try store.sandbox.sh("touch -d '2 days ago' $R/cloud/doomed/*")
        #expect(
            try store.sandbox.sh(
                "backupfs prune --remote cloud --json --store $S | tail -1 | jq -c '[.packs_removed > 0, .packs_waiting]'", now)
                == "[true,0]")
        #expect(try store.sync("", now).exitCode == 0)
        #expect(try names(store) == "day-2 day-3")
        try expectSound(store)
        let fails = try store.sandbox.run("backupfs forget --remote cloud --store $S", now)
        #expect(fails.exitCode == 2 && fails.errors.contains("has no rule"), "\(fails.text)")
    }

    @Test func `the rules of one machine leave the backups of another one alone`() throws {
        let store = try store([#"keep-last: \"1\""#])
        for day in 1...2 { try backUp(store, day) }
        try store.sandbox.sh(
            """
            backupfs remote fetch $R/cloud $R/other >/dev/null
            backupfs init --new-source --app ev-charging-tracker --sample --store $R/two --repository $R/other >/dev/null
            backupfs config set retention off --store $R/two
            backupfs remote add cloud $R/cloud --store $R/two >/dev/null
            for n in 1 2 3; do
                sqlite3 $R/two/app/database.sqlite "UPDATE app_metadata SET value = 'two $n' WHERE key = 'device_name'"
                BACKUPFS_NOW=2026-01-1${n}T12:00:00Z backupfs backup --label other-$n --store $R/two >/dev/null
            done
            """)
        for day in 5...7 { try backUp(store, day) }
        #expect(try names(store) == "day-7 other-1 other-2 other-3")
        try expectSound(store)
    }

    @Test func `two stores of one repository do not upload what the other one's rules have removed`() throws {
        let store = try store([#"keep-last: \"1\""#])
        for day in 1...3 { try backUp(store, day) }
        try store.sandbox.sh(
            """
            backupfs init --new-source --app ev-charging-tracker --sample --store $R/two --repository $S/repository >/dev/null
            backupfs config set retention off --store $R/two
            backupfs remote add cloud $R/cloud --store $R/two >/dev/null
            for n in 1 2; do
                sqlite3 $R/two/app/database.sqlite "UPDATE app_metadata SET value = 'two $n' WHERE key = 'device_name'"
                BACKUPFS_NOW=2026-01-1${n}T12:00:00Z backupfs backup --label other-$n --store $R/two >/dev/null
            done
            """)
        #expect(try names(store) == "day-3 other-1 other-2")
        try backUp(store, 4)
        try store.sandbox.sh("backupfs sync --store $R/two >/dev/null")
        #expect(try names(store) == "day-4 other-1 other-2")
        try expectSound(store)
    }

    /// A pack here is lost before it is uploaded: the backup that needs it does not take the place of a whole one.
    @Test(arguments: ["truncate -s 10 %", "rm %"])
    func `a backup that cannot be uploaded displaces none`(damage: String) throws {
        let store = try store([#"keep-last: \"1\""#])
        try backUp(store, 1)
        #expect(try names(store) == "day-1")
        let now = ["BACKUPFS_NOW": "2026-01-12T12:00:00Z"]
        try store.sandbox.sh(
            """
            sqlite3 $S/app/database.sqlite "UPDATE app_metadata SET value = hex(randomblob(60000)) WHERE key = 'device_name'"
            backupfs backup --no-sync --label day-2 --store $S
            cd $S/repository/packs; for pack in */*; do [ -e $R/cloud/packs/$pack ] || echo $PWD/$pack; done > $R/new
            """, now)
        let packs = try store.sandbox.sh("cat $R/new").split(separator: "\n")
        #expect(!packs.isEmpty)
        for pack in packs { try store.sandbox.sh(damage.replacing("%", with: "\(pack)")) }
        let sync = try store.sync("", now)
        #expect(sync.exitCode != 0, "\(sync.text)")
        #expect(try names(store) == "day-1")
        let forget = try store.sandbox.run("backupfs forget --remote cloud --yes --store $S", now)
        #expect(forget.exitCode == 1 && forget.errors.contains("not in the remote yet"), "\(forget.text)")
        #expect(try names(store) == "day-1")
        try expectSound(store)
    }

    @Test func `a wrong clock removes nothing`() throws {
        let store = try store([#"keep-last: \"1\""#])
        for day in 1...2 { try backUp(store, day) }
        #expect(try names(store) == "day-2")
        let behind = try backUp(store, 3, at: "2020-05-01T12:00:00Z")
        #expect(behind.exitCode == 0 && behind.errors.contains("the clock is behind"), "\(behind.text)")
        #expect(try names(store) == "day-2 day-3")
        #expect(try store.status("[.state, .notice.code]") == #"["upToDate","notPermitted"]"#)
        let ahead = try backUp(store, 4)
        #expect(ahead.errors.contains("more than a month ago"), "\(ahead.text)")
        #expect(try names(store) == "day-2 day-3 day-4")
        #expect(try backUp(store, 5).errors == "")
        #expect(try names(store) == "day-5")
        #expect(try store.status(".notice") == "null")
    }

    @Test func `while a record or a label there cannot be read, nothing is removed`() throws {
        let store = try store([#"keep-last: \"2\""#])
        for day in 1...3 { try backUp(store, day) }
        #expect(try names(store) == "day-2 day-3")
        let record = try store.sandbox.sh("ls $R/cloud/snapshots/* | head -1")
        try store.sandbox.sh("cp \(record) $R/saved; head -c $(stat -c %s \(record)) /dev/zero > \(record)")
        let made = try backUp(store, 4)
        #expect(made.exitCode == 0 && made.errors.contains("no old backup was removed"), "\(made.text)")
        #expect(try store.status("[.state, .notice.code]") == #"["upToDate","repositoryDamaged"]"#)
        #expect(try store.sandbox.sh("ls $R/cloud/snapshots | wc -l") == "3")
        let forget = try store.sandbox.run("backupfs forget --remote cloud --yes --store $S")
        #expect(forget.exitCode == 1 && forget.errors.contains("no old backup was removed"), "\(forget.text)")
        try store.sandbox.sh("cp $R/saved \(record)")
        // The label of a backup that is here comes from here; one of a backup that is not must be readable.
        let now = ["BACKUPFS_NOW": "2026-01-14T13:00:00Z"]
        try store.sandbox.sh("backupfs pin day-4 --store $S", now)
        #expect(try store.sync("", now).exitCode == 0)
        #expect(try names(store) == "day-3 day-4")
        try store.sandbox.sh("backupfs unpin day-4 --store $S; backupfs delete day-4 --yes --store $S", now)
        try store.sandbox.sh("for label in $R/cloud/labels/*; do echo garbage > $label; done")
        for day in 5...6 { #expect(try backUp(store, day).errors.contains("no old backup was removed")) }
        #expect(try store.sandbox.sh("ls $R/cloud/snapshots | wc -l") == "4")
    }

    @Test func `a flipped byte in a remote is found and mended`() throws {
        let store = try store()
        for day in 1...2 { try backUp(store, day) }
        let pack = try store.sandbox.sh("cd $R/cloud; find packs -type f | sort | head -1")
        try store.sandbox.sh("printf '\\x5a\\xa5' | dd of=$R/cloud/\(pack) bs=1 seek=60 conv=notrunc 2>/dev/null")
        try store.sandbox.fails("cmp $R/cloud/\(pack) $S/repository/\(pack)", saying: "differ", exitCode: 1)
        #expect(try store.sync().output == "iCloud: nothing to upload. Backups there: 2\n")
        let count = try store.sandbox.sh("find $R/cloud/packs -type f | wc -l")
        let found = try store.sync("--verify")
        #expect(
            found.exitCode == 0 && found.output.contains("iCloud: read packs: \(count) (")
                && found.output.contains("damaged and uploaded again: 1"), "\(found.text)")
        try store.sandbox.sh("cmp $R/cloud/\(pack) $S/repository/\(pack)")
        let parts = try (1...2).map { part in
            try store.documents(of: store.sync("--verify --read-data-subset \(part)/2 --json"), "[.packs_read, .packs_repaired]")
        }
        #expect(parts.allSatisfy { $0.hasSuffix(",0]") })
        // Damaged in both places.
        let flip = "printf '\\x5a\\xa5' | dd of=$f bs=1 seek=60 conv=notrunc 2>/dev/null"
        try store.sandbox.sh("for f in $R/cloud/\(pack) $S/repository/\(pack); do \(flip); done")
        let damaged = try store.sync("--verify")
        #expect(
            damaged.exitCode == 1 && damaged.errors.contains("1 pack there is damaged and could not be uploaded again from here"),
            "\(damaged.text)")
        try store.sandbox.fails(
            "backupfs sync --read-data-subset 1/2 --store $S", saying: "--read-data-subset needs --verify", exitCode: 2)
    }

    // MARK: On a server

    @Test func `rules of a remote on a server`() throws {
        let server = try ServerSandbox()
        let store = server.store
        try store.sandbox.sh(
            """
            sed -i 's/^    label: iCloud/&\\n    keep-last: "1"/' $S/store.yaml
            backupfs config set retention off --store $S; backupfs config set retention-counts all --store $S
            """)
        for day in 1...3 {
            let made = try backUp(store, day)
            #expect(made.exitCode == 0 && made.errors == "", "\(made.text)")
        }
        #expect(try names(store) == "day-3")
        try expectSound(store)
        #expect(try store.status("[.state, .snapshotCount, .removedSnapshots]") == #"["upToDate",1,1]"#)
        let now = ["BACKUPFS_NOW": "2026-01-13T13:00:00Z"]
        #expect(
            try store.sandbox.sh(
                "backupfs prune --remote cloud --now --max-unused 0 --json --store $S | tail -1 | jq -c '[.packs_removed, .packs_waiting > 0]'",
                now)
                == "[0,true]")
        try backUp(store, 4)
        #expect(try names(store) == "day-4")
        try expectSound(store)
    }

    @Test func `a key that may not delete uploads, removes nothing and says so`() throws {
        let server = try ServerSandbox()
        let store = server.store
        try store.sandbox.sh(
            """
            sed -i 's/^    label: iCloud/&\\n    keep-last: "1"/' $S/store.yaml
            backupfs config set retention off --store $S; backupfs config set retention-counts all --store $S
            """)
        try server.proxy.set(
            FaultProxy.Fault(.answer(status: 403, code: "AccessDenied"), method: "DELETE", times: nil))
        try backUp(store, 1)
        let made = try backUp(store, 2)
        #expect(made.exitCode == 0 && made.errors.contains("since the key may not remove them"), "\(made.text)")
        #expect(try names(store) == "day-1 day-2")
        #expect(try store.status("[.state, .notice.code, .lastError]") == #"["upToDate","accessDenied",null]"#)
        // A key that could delete when the server was tried.
        try store.sandbox.sh("sed -i 's/^\\(capabilities: .*\\)/\\1 removal/' $S/remotes/cloud/capabilities")
        let again = try backUp(store, 3)
        #expect(again.exitCode == 0 && again.errors.contains("since the key may not remove them"), "\(again.text)")
        #expect(try names(store) == "day-1 day-2 day-3")
        try expectSound(store)
        try server.proxy.set()
        #expect(try backUp(store, 4).errors == "")
        #expect(try names(store) == "day-4")
    }
}
