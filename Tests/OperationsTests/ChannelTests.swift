import TestSupport
import Testing

@testable import Operations

/// The EV charging tracker as users and as its developers use it: each channel has its own backups.
struct ChannelTests {
    private func sandbox(_ app: String = "ev-charging-tracker") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app \(app) --store $S >/dev/null")
        return sandbox
    }

    private func names(_ sandbox: Sandbox, _ options: String = "") throws -> String {
        try sandbox.sh("backupfs snapshots --json --store $S \(options) | jq -r '[.[].name] | join(\" \")'")
    }

    @Test func `EXP-15: backups of each are called as the app calls them, and listed by themselves`() throws {
        let sandbox = try sandbox()
        func backup(_ options: String, _ now: String) throws {
            try sandbox.sh("backupfs backup \(options) --store $S", ["BACKUPFS_NOW": now])
        }
        try backup("", "2026-01-11T14:30:00Z")
        try backup("--channel development", "2026-01-11T14:31:00Z")
        try sandbox.sh("backupfs config set channel development --store $S")
        try backup("--label mine", "2026-01-11T14:32:00Z")
        try backup("--channel production", "2026-01-11T14:33:00Z")
        let store = try Store.open(sandbox.storePath)
        #expect(
            store.repository.snapshots(kind: .snapshot).map { store.exportFile(of: $0).name } == [
                "ev_charging_tracker_backup_2026-01-11_14-30-00.json", "ev_charging_tracker_backup_dev_2026-01-11_14-31-00.json",
                "ev_charging_tracker_backup_dev_2026-01-11_14-32-00.json", "ev_charging_tracker_backup_2026-01-11_14-33-00.json",
            ])
        #expect(try names(sandbox, "--channel production") == "2026-01-11_14-30-00 2026-01-11_14-33-00")
        #expect(try names(sandbox, "--channel development") == "2026-01-11_14-31-00 mine")
        #expect(try names(sandbox) == "2026-01-11_14-30-00 2026-01-11_14-31-00 mine 2026-01-11_14-33-00")
        #expect(
            try sandbox.sh("backupfs snapshots --json --store $S | jq -c '.[] | [.channel, .attributes.channel]'")
                == """
                ["production",null]
                ["development","development"]
                ["development","development"]
                ["production",null]
                """)
        // Tags may be removed: the channel stays.
        try sandbox.sh("backupfs tag mine --set '' --store $S; backupfs tag mine --add production --store $S")
        #expect(try names(sandbox, "--channel development") == "2026-01-11_14-31-00 mine")
        #expect(try sandbox.sh("backupfs snapshots --store $S | grep -c development") == "2")
    }

    @Test func `RET-03: five of each are kept, and none of either that is older than thirty days`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            for day in 10 11 12 13 14 15 16; do
              BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --store $S
              BACKUPFS_NOW=2026-01-${day}T12:00:00Z backupfs backup --channel development --store $S
            done
            """)
        #expect(
            try sandbox.sh("backupfs snapshots --channel production --json --store $S | jq -r '[.[].name[8:13]] | join(\" \")'")
                == "12_10 13_10 14_10 15_10 16_10")
        #expect(
            try sandbox.sh("backupfs snapshots --channel development --json --store $S | jq -r '[.[].name[8:13]] | join(\" \")'")
                == "12_12 13_12 14_12 15_12 16_12")
        // The sixth backup of a channel removes the oldest one of that channel.
        let removed = try sandbox.sh(
            "backupfs backup --channel development --json --store $S | tail -1 | jq -c .removed",
            ["BACKUPFS_NOW": "2026-01-17T12:00:00Z"])
        #expect(removed == #"["2026-01-12_12-00-00"]"#)
        // A long time without backups makes no backup too old.
        #expect(
            try sandbox.sh(
                "backupfs forget --dry-run --json --store $S | jq -r '.remove | length'",
                ["BACKUPFS_NOW": "2026-06-01T12:00:00Z"]) == "0")
        #expect(
            try sandbox.sh("backupfs forget --keep-last 2 --yes --json --store $S | jq -r '[.keep[].name[8:13]] | join(\" \")'")
                == "15_10 16_10 16_12 17_12")
    }

    @Test func `one that is due is compared with the newest of its channel`() throws {
        let sandbox = try sandbox()
        func due(_ now: String) throws -> String {
            try sandbox.sh("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now])
        }
        try sandbox.sh("backupfs backup --label dev --channel development --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(try due("2026-01-11T00:00:00Z") == "2026-01-11_00-00-00")
        #expect(try due("2026-01-12T00:00:00Z") == "Nothing has changed since the backup 2026-01-11_00-00-00.")
        try sandbox.sh("backupfs config set channel development --store $S")
        #expect(try due("2026-01-13T00:00:00Z") == "Nothing has changed since the backup dev.")
    }

    @Test func `an app without channels takes none`() throws {
        let sandbox = try sandbox("keeptrack")
        for command in ["backup --channel development", "backup --channel production", "config set channel development"] {
            let result = try sandbox.run("backupfs \(command) --store $S")
            #expect(result.exitCode == 1 && result.errors.contains("KeepTrack has no channels"), "\(command): \(result)")
        }
        #expect(try names(sandbox) == "")
        try sandbox.sh("backupfs backup --label one --store $S; echo 'channel: development' >> $S/store.yaml")
        #expect(try names(sandbox, "--channel production") == "one")
        let check = try sandbox.run("backupfs config check --store $S")
        #expect(check.exitCode == 1 && check.errors.contains("remove channel from the settings"), "\(check)")
        #expect(try sandbox.run("backupfs backup --store $S").exitCode == 1)
        #expect(
            try sandbox.run("backupfs config set channel beta --store $S").errors.contains(
                "Write one of production, development."))
        #expect(try sandbox.run("backupfs backup --channel beta --store $S").exitCode == 2)
        #expect(try sandbox.run("backupfs backup --if-due --channel production --store $S").exitCode == 2)
    }
}
