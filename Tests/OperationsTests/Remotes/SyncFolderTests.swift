import TestSupport
import Testing

/// `backupfs sync`, and the upload after a backup, with folders.
struct SyncFolderTests {
    private static let full = "iCloud storage is full. Please free up space or upgrade your plan."

    private func store(_ settings: [String] = []) throws -> SyncSandbox {
        let store = try SyncSandbox("$R/cloud", settings)
        try store.sandbox.sh("mkdir $R/cloud; sed -i \"s|\\$R/cloud|$R/cloud|\" $S/store.yaml")
        return store
    }

    /// Files of the mirror, as names and sizes.
    private func objects(_ store: SyncSandbox, in folder: String = "cloud") throws -> String {
        // Not all of them need be there.
        try store.sandbox.sh(
            "cd $R/\(folder); find config config.copy packs snapshots labels -type f -printf '%p %s\\n' 2>/dev/null | sort || true"
        )
    }

    @Test func `a backup is uploaded when it is made, unless --no-sync or the settings say otherwise`() throws {
        let store = try store()
        let one = try store.backUp("one")
        #expect(one.exitCode == 0 && one.output == "one\n" && one.errors == "", "\(one.text)")
        #expect(try objects(store) == store.expectedObjects())
        #expect(try store.backUp("two", "--no-sync").exitCode == 0)
        #expect(try objects(store) != store.expectedObjects())
        #expect(try store.status("[.state, .pendingSnapshots]") == #"["pending",1]"#)
        #expect(try store.sandbox.sh("backupfs status --store $S").contains("iCloud"))
        #expect(try store.sync("cloud").output == "iCloud: uploaded backups: 1 (\(uploaded(store))). Backups there: 2\n")
        #expect(try objects(store) == store.expectedObjects())
        // Every byte, by another program.
        try store.sandbox.sh("cd $S/repository; find packs snapshots labels config -type f -exec cmp {} $R/cloud/{} \\;")
        try store.sandbox.sh("sed -i 's/^    label: iCloud/&\\n    after-backup: \"no\"/' $S/store.yaml")
        let three = try store.backUp("three", "--json")
        #expect(three.exitCode == 0 && !three.output.contains(#""message_type":"sync""#))
        #expect(try store.status(".pendingSnapshots") == "1")
    }

    /// What the last sync has uploaded, as `sync` shows it.
    private func uploaded(_ store: SyncSandbox) throws -> String {
        let bytes = try #require(Int(store.sandbox.sh("jq .uploadedBytes $S/remotes/cloud/state.json")))
        return "\(bytes / 1_024).\(bytes % 1_024 * 10 / 1_024) KiB"
    }

    @Test func `REM-01: one command sets up a remote, another one tries it`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app ev-charging-tracker --sample --store $S >/dev/null; mkdir $R/x")
        let added = try sandbox.run("backupfs remote add ev $R/x --label iCloud --store $S")
        #expect(added.exitCode == 0 && added.output.contains("Added the remote ev: \(sandbox("x"))\n"), "\(added)")
        let tried = try sandbox.run("backupfs remote test ev --store $S")
        #expect(tried.exitCode == 0, "\(tried)")
        #expect(tried.output.contains("iCloud can be used. There is no copy of this repository yet.\n"), "\(tried)")
        #expect(
            try sandbox.sh("backupfs remote list --json --store $S | jq -c '.[] | [.name, .url, .label, .after_backup]'")
                == #"["ev","\#(sandbox("x"))","iCloud",true]"#)
        try sandbox.sh("rm -r $R/x")
        #expect(try sandbox.run("backupfs remote test ev --store $S").exitCode == 1)
    }

    @Test func `REM-06: a disk that is too small stays empty`() throws {
        let store = try store()
        try store.sandbox.sh("head -c 3000000 /dev/urandom > $R/noise")
        try store.sandbox.sh(
            "mkdir -p $S/app; sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = hex(randomblob(1500000)) WHERE key = 'device_name'\""
        )
        try store.sandbox.sh("backupfs backup --label large --no-sync --store $S")
        #expect(try Int(store.sandbox.sh("du -sb $S/repository/packs | cut -f1")) ?? 0 > 1 << 20)
        let result = try store.sandbox.runInNamespace(
            """
            set -e; mount -t tmpfs -o size=1m none $R/cloud
            backupfs sync --store $S || echo "exit $?"
            find $R/cloud -type f -not -path '*/.backupfs-storage/*'
            """)
        #expect(result.errors.contains(Self.full), "\(result.text)")
        #expect(result.output == "exit 1\n")
        #expect(try store.status("[.state, .lastError.code]") == #"["pendingRetry","noSpace"]"#)
    }

    @Test func `a remote that is removed during an upload gets nothing more`() throws {
        let store = try store()
        let sandbox = store.sandbox
        try sandbox.sh("backupfs backup --label one --no-sync --store $S >/dev/null; cp $S/store.yaml $R/before")
        let ended = try sandbox.run(
            """
            touch $R/pause; BACKUPFS_FAULT=sync.packs-uploaded=pause:$R/pause backupfs sync --store $S 2> $R/errors & sync=$!
            wait_paused $R/pause $sync
            backupfs remote remove cloud --store $S > $R/removed & remove=$!
            wait_until '! grep -q "^  cloud:" $S/store.yaml'
            wait $sync; echo "exit $?"; wait $remove; echo "exit $?"
            test ! -e $S/remotes/cloud; find $R/cloud/snapshots -type f 2>/dev/null
            """)
        #expect(ended.output == "exit 130\nexit 0\n", "\(ended.text)")
        #expect(try sandbox.sh("cat $R/errors").contains("the remote “cloud” was removed from the settings during the upload"))
        // Nothing is damaged by it.
        try sandbox.sh("cp $R/before $S/store.yaml")
        #expect(try store.sync().exitCode == 0)
        #expect(try objects(store) == store.expectedObjects())
    }

    @Test func `a quota is kept`() throws {
        let store = try store(["quota: \"20 KB\""])
        let made = try store.backUp("one")
        #expect(made.exitCode == 0 && made.errors.contains(Self.full), "\(made.text)")
        #expect(made.errors.contains("the quota in the settings is 20000 bytes"), "\(made.errors)")
        #expect(try store.sandbox.sh("find $R/cloud -type f -not -path '*/.backupfs-storage/*'") == "")
        try store.sandbox.sh("sed -i 's/20 KB/10 MB/' $S/store.yaml")
        #expect(try store.sync().exitCode == 0)
        #expect(try objects(store) == store.expectedObjects())
    }

    @Test func `a folder that is gone is offline, and comes back`() throws {
        let store = try store()
        #expect(try store.backUp("one").exitCode == 0)
        try store.sandbox.sh("mv $R/cloud $R/away")
        let gone = try store.sync()
        #expect(gone.exitCode == 1)
        #expect(gone.errors.contains("No internet connection. Backup requires network access."), "\(gone.errors)")
        #expect(try store.sandbox.sh("ls $R").contains("away") && !store.sandbox.sh("ls $R").contains("cloud"))
        try store.sandbox.sh("mv $R/away $R/cloud")
        #expect(try store.sync().exitCode == 0)
    }

    /// The folder in which a disk was mounted is there without the disk, too.
    @Test func `a folder that is empty after a sync is a disk that is not mounted`() throws {
        let store = try store()
        #expect(try store.backUp("one").exitCode == 0)
        try store.sandbox.sh("mv $R/cloud $R/disk; mkdir $R/cloud")
        // The backup is good, and waits for the disk.
        let two = try store.backUp("two")
        #expect(two.exitCode == 0 && two.errors.contains("the copy that was in this folder is not there"), "\(two.text)")
        #expect(try store.sync("cloud").exitCode != 0)
        #expect(try store.status("[.state, .pendingSnapshots]") == #"["pendingRetry",1]"#)
        #expect(try store.sandbox.sh("ls -A $R/cloud | grep -v '^.backupfs-storage$' || true") == "")
        try store.sandbox.sh("rm -r $R/cloud; mv $R/disk $R/cloud")
        #expect(try store.sync("cloud").exitCode == 0)
        #expect(try objects(store) == store.expectedObjects())
        // A new copy, because the user says so.
        try store.sandbox.sh(
            """
            rm -r $R/cloud; mkdir $R/cloud; backupfs remote remove cloud --store $S >/dev/null
            backupfs remote add cloud $R/cloud --store $S >/dev/null; backupfs sync --store $S >/dev/null
            """)
        #expect(try objects(store) == store.expectedObjects())
    }

    @Test func `a remote that has moved to another folder gets everything there`() throws {
        let store = try store()
        #expect(try store.backUp("one").exitCode == 0)
        try store.sandbox.sh("mkdir $R/second; sed -i 's|url: .*/cloud|url: '$R'/second|' $S/store.yaml")
        #expect(try store.status("[.state, .lastSync, .pendingSnapshots]") == #"["never",null,1]"#)
        #expect(try store.sync().exitCode == 0)
        #expect(try objects(store, in: "second") == store.expectedObjects())
    }

    @Test func `two syncs of one remote do not meet, and a backup goes on meanwhile`() throws {
        let store = try store()
        #expect(try store.backUp("one", "--no-sync").exitCode == 0)
        try store.sandbox.sh("touch $R/pause")
        let pause = ["BACKUPFS_FAULT": "sync.claimed=pause:\(store.sandbox("pause"))"]
        let running = try store.sandbox.start("exec backupfs sync --store $S", pause)
        try store.sandbox.sh("wait_paused $R/pause \(running.process)")
        #expect(try store.status(".state") == #""uploading""#)
        let second = try store.sync()
        #expect(
            second.exitCode == 11 && second.errors.contains("another sync of the remote “cloud” is running"), "\(second.text)")
        #expect(try store.backUp("two", "--no-sync").exitCode == 0)
        try store.sandbox.sh("rm $R/pause")
        #expect(try store.sandbox.finish(running).exitCode == 0)
        // The second backup came after the sync had begun: it may be there, but counts as pending until the next sync.
        #expect(try store.status("[.state, .pendingSnapshots]") == #"["pending",1]"#)
        #expect(try store.sync().exitCode == 0)
        #expect(try objects(store) == store.expectedObjects())
    }

    @Test func `a cancelled sync is to be retried`() throws {
        let store = try store()
        #expect(try store.backUp("one", "--no-sync").exitCode == 0)
        try store.sandbox.sh("touch $R/pause")
        let pause = ["BACKUPFS_FAULT": "sync.claimed=pause:\(store.sandbox("pause"))"]
        let running = try store.sandbox.start("exec backupfs sync --store $S", pause)
        try store.sandbox.sh("wait_paused $R/pause \(running.process); kill -TERM \(running.process)")
        #expect(try store.sandbox.finish(running).exitCode == 130)
        #expect(try store.status("[.state, .failureCount, .lastError]") == #"["pendingRetry",0,null]"#)
        #expect(try store.sync().exitCode == 0)
        #expect(try store.status(".state") == #""upToDate""#)
    }

    @Test func `a backup that is not due retries what is pending when its time has come`() throws {
        let store = try store()
        let first = ["BACKUPFS_NOW": "2026-01-11T10:00:00Z"]
        try store.sandbox.sh("mv $R/cloud $R/away; backupfs backup --if-due --store $S", first)
        let made = try store.sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-12T10:00:00Z"])
        #expect(made.exitCode == 0 && made.output == "2026-01-12_10-00-00\n", "\(made.text)")
        #expect(made.errors.contains("No internet connection. Backup requires network access."), "\(made.errors)")
        try store.sandbox.sh("mv $R/away $R/cloud")
        let count = try store.status(".failureCount")
        try store.sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-12T10:00:30Z"])
        #expect(try store.status(".failureCount") == count && objects(store) == "")
        try store.sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": "2026-01-12T12:00:00Z"])
        #expect(try store.status("[.state, .lastSync]") == #"["upToDate","2026-01-12T12:00:00Z"]"#)
        #expect(try objects(store) == store.expectedObjects())
    }

    @Test func `a store without remotes, and names that are none`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app ev-charging-tracker --store $S >/dev/null; backupfs backup --label one --store $S")
        try sandbox.fails("backupfs sync --store $S", saying: "Add one with: backupfs remote add", exitCode: 1)
        let store = try store()
        try store.sandbox.fails(
            "backupfs sync clod --store $S", saying: "there is no remote “clod”. Did you mean cloud?", exitCode: 1)
        try store.sandbox.fails("backupfs sync cloud other --store $S", saying: "There are: cloud.", exitCode: 1)
        #expect(try objects(store) == "")
    }

    @Test func `what is damaged here is reported, not uploaded, and not taken for complete`() throws {
        let store = try store()
        #expect(try store.backUp("one", "--no-sync").exitCode == 0)
        try store.sandbox.sh(
            "backupfs pin one --store $S; for file in $S/repository/labels/*.label; do printf garbage > $file; done")
        let result = try store.sync()
        #expect(result.exitCode == 1)
        #expect(result.errors.contains("1 file of the repository is damaged and was not uploaded"), "\(result.text)")
        #expect(result.errors.contains("See what is affected with: backupfs check"), "\(result.text)")
        #expect(try store.status("[.state, .lastError.code]") == #"["pendingRetry","repositoryDamaged"]"#)
        #expect(try objects(store).contains("snapshots/") && !objects(store).contains("labels/"))
    }

    @Test func `metrics of a remote`() throws {
        let store = try store()
        #expect(try store.backUp("one", "--no-sync").exitCode == 0)
        let place = "app=\"ev-charging-tracker\",store=\"\(store.sandbox.storePath)\",remote=\"cloud\""
        func metrics() throws -> [String] {
            try store.sandbox.sh("backupfs status --prometheus --store $S | grep '^backupfs_remote' | sort").split(
                separator: "\n"
            )
            .map(String.init)
        }
        #expect(
            try metrics() == [
                "backupfs_remote_pending_backups{\(place)} 1", "backupfs_remote_sync_failures{\(place)} 0",
                "backupfs_remote_up_to_date{\(place)} 0",
            ])
        #expect(try store.sync("", ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]).exitCode == 0)
        #expect(
            try metrics() == [
                "backupfs_remote_last_sync_timestamp_seconds{\(place)} 1768141800", "backupfs_remote_pending_backups{\(place)} 0",
                "backupfs_remote_sync_failures{\(place)} 0", "backupfs_remote_up_to_date{\(place)} 1",
            ])
    }
}
