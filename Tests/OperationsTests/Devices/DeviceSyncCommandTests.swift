import SystemIO
import TestSupport
import Testing

/// `backupfs device-sync`: two stores of KeepTrack that share a folder.
struct DeviceSyncCommandTests {
    let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/cloud
            for device in a b; do
                backupfs init --app keeptrack --store $R/$device >/dev/null
                sed -i '$i remotes:\\n  shared:\\n    url: '$R'/cloud\\n    after-backup: "no"' $R/$device/store.yaml
            done
            """)
    }

    /// Switched on in the settings and in the app.
    private func switchOn(_ devices: String = "a b") throws {
        try sandbox.sh(
            """
            for device in \(devices); do
                backupfs config set device-sync shared --store $R/$device >/dev/null
                sqlite3 $R/$device/app/database.sqlite "INSERT INTO app_settings VALUES ('cloud_sync_enabled', 'true')"
            done
            """)
    }

    private func sql(_ device: String, _ statement: String) throws -> String {
        try sandbox.sh("sqlite3 $R/\(device)/app/database.sqlite \"\(statement)\"")
    }

    private func sync(_ device: String, _ options: String = "") throws -> String {
        try sandbox.sh("backupfs device-sync --store $R/\(device) \(options)")
    }

    private func add(_ device: String, _ number: Int, _ name: String = "Water") throws {
        _ = try sql(
            device,
            """
            INSERT INTO entries VALUES ('00000000-0000-4000-8000-0000000000\(number)', '2026-01-11T08:00:00Z', '\(name)', 1.5, 'cups', 0)
            """)
    }

    /// All files of the remote, with their sizes.
    private var remote: String {
        get throws { try sandbox.sh("cd $R/cloud; find . -type f -printf '%P %s\\n' | sort") }
    }

    private func status(_ device: String, _ filter: String) throws -> String {
        try sandbox.sh("backupfs status --json --store $R/\(device) | jq -c '.deviceSync | \(filter)'")
    }

    @Test func `REM-11: what one device adds, the other has after a round of each`() throws {
        try switchOn()
        try add("a", 10)
        #expect(try sync("a") == "shared: sent changes: 1, received: 0")
        #expect(
            try sync("b", "--json | jq -c '[.message_type, .sent, .received, .queued, .conflicts, .error]'")
                == #"["device_sync",0,1,0,0,null]"#)
        #expect(try sql("b", "SELECT name, amount FROM entries") == "Water|1.5")
        #expect(
            try status("a", "[.remote, .queued, .uploaded, .conflicts, .waitingDeletions, .error]") == #"["shared",0,1,0,0,null]"#
        )
        #expect(try status("b", ".lastFetch | fromdate > 1700000000") == "true")
        #expect(
            try sandbox.sh("backupfs status --store $R/b").contains(
                "Other devices, through shared: changes to send: 0; last exchange: "))
        // Before the first merge, and only then.
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/b | jq -r '.[].tags[]'") == "before-device-sync")
        #expect(try sandbox.sh("backupfs snapshots --json --store $R/a | jq -r '.[].name'") == "")
        try sandbox.sh("grep '\"op\":\"device-sync\"' $R/b/backupfs.log | grep -q '\"result\":\"ok\"'")
    }

    @Test func `REM-14: off in the settings or in the app, nothing is queued, fetched or stored`() throws {
        try switchOn("a")
        try add("a", 10)
        _ = try sync("a")
        let before = try remote
        try add("b", 11)
        try sandbox.fails("backupfs device-sync --store $R/b", saying: "no remote is named", exitCode: 2)
        #expect(try status("b", ".") == "null")
        try sandbox.sh("backupfs config set device-sync shared --store $R/b >/dev/null")
        // The app has never written its switch, and then it is off.
        for value in [nil, "false", "0"] {
            if let value { _ = try sql("b", "INSERT OR REPLACE INTO app_settings VALUES ('cloud_sync_enabled', '\(value)')") }
            try sandbox.fails(
                "backupfs device-sync --store $R/b", saying: "is switched off in KeepTrack: cloudSyncEnabled", exitCode: 1)
        }
        #expect(try remote == before)
        #expect(try sql("b", "SELECT count(*) FROM entries") == "1")
        #expect(try sandbox.sh("ls $R/b/device-sync 2>/dev/null || true") == "")
        _ = try sql("b", "UPDATE app_settings SET value = 'true'")
        #expect(try sync("b") == "shared: sent changes: 1, received: 1")
    }

    @Test func `REM-13: an unreachable remote leaves the changes queued`() throws {
        try switchOn()
        try sandbox.sh("mv $R/cloud $R/away")
        try add("a", 10)
        try sandbox.fails("backupfs device-sync --store $R/a", saying: "\(sandbox("cloud"))", exitCode: 1)
        #expect(try status("a", "[.queued, .uploaded, .lastFetch, .error.code]") == #"[1,0,null,"offline"]"#)
        try sandbox.sh("mv $R/away $R/cloud")
        #expect(try sync("a") == "shared: sent changes: 1, received: 0")
        #expect(try status("a", "[.queued, .uploaded, .error]") == "[0,1,null]")
    }

    @Test(arguments: ["conflicts-kept", "intent-recorded", "rows-written", "committed"])
    func `a program that is killed while it merges leaves nothing half done`(point: String) throws {
        try switchOn()
        for number in 10..<13 { try add("a", number, "old") }
        for device in ["a", "b"] { _ = try sync(device) }
        _ = try sql("a", "UPDATE entries SET name = 'new' WHERE id LIKE '%10'; DELETE FROM entries WHERE id LIKE '%11'")
        try add("a", 20, "added")
        _ = try sql("a", "UPDATE entries SET name = 'earlier' WHERE id LIKE '%12'")
        _ = try sync("a")
        _ = try sql("b", "UPDATE entries SET name = 'later' WHERE id LIKE '%12'")
        let result = try sandbox.run("backupfs device-sync --store $R/b", ["BACKUPFS_FAULT": "device-sync.\(point)"])
        #expect(result.exitCode == 128 + 9, "\(result.text)")
        #expect(try sql("b", "PRAGMA integrity_check") == "ok")
        #expect(try sync("b") == "shared: sent changes: 0, received: 4")
        _ = try sync("a")
        for device in ["a", "b"] {
            #expect(try sql(device, "SELECT name FROM entries ORDER BY id") == "new\nlater\nadded")
            #expect(try sandbox.sh("jq -r .record.name $R/\(device)/device-sync/conflicts/*.json") == "earlier")
            // Neither sees what it has merged as a change of the app.
            #expect(try sync(device) == "shared: sent changes: 0, received: 0")
        }
    }

    @Test func `conflicts are named, kept and counted`() throws {
        try switchOn()
        try add("a", 10, "old")
        for device in ["a", "b"] { _ = try sync(device) }
        _ = try sql("a", "UPDATE entries SET name = 'earlier'")
        _ = try sync("a")
        _ = try sql("b", "UPDATE entries SET name = 'later'")
        let said = try sync("b")
        let name = "entries 00000000-0000-4000-8000-000000000010 (conflict "
        #expect(
            said.contains(
                "Changed on two devices at once; the earlier values are kept in: \(sandbox("b"))/device-sync/conflicts/\(name)"))
        #expect(try status("b", ".conflicts") == "1")
        #expect(try sandbox.sh("jq -r .record.name $R/b/device-sync/conflicts/*.json") == "earlier")
        _ = try sync("a")
        #expect(try sql("a", "SELECT name FROM entries") == "later")
        #expect(try status("a", ".conflicts") == "1")
    }

    @Test func `many deletions wait until the user accepts them`() throws {
        try switchOn()
        for number in 10..<30 { try add("a", number) }
        for device in ["a", "b"] { _ = try sync(device) }
        _ = try sql("a", "DELETE FROM entries WHERE id < '00000000-0000-4000-8000-000000000021'")
        let said = try sync("a")
        #expect(
            said.contains(
                "Deletions that wait, since there are many: 11. If they are right: backupfs device-sync --accept-deletions"))
        _ = try sync("b")
        #expect(try sql("b", "SELECT count(*) FROM entries") == "20")
        #expect(try status("a", ".waitingDeletions") == "11")
        _ = try sync("a", "--accept-deletions")
        _ = try sync("b")
        #expect(try sql("b", "SELECT count(*) FROM entries") == "9")
        #expect(try status("a", ".waitingDeletions") == "0")
    }

    @Test func `an app with numbers as keys is refused, and nothing is stored`() throws {
        try sandbox.sh(
            """
            backupfs init --sample --store $R/cars >/dev/null
            sed -i '$i device-sync: shared\\nremotes:\\n  shared:\\n    url: '$R'/cloud' $R/cars/store.yaml
            """)
        try sandbox.fails(
            "backupfs device-sync --store $R/cars", saying: "the cars have no UUID, and numbers are given twice", exitCode: 1)
        #expect(try remote == "")
    }

    @Test func `devices with one encrypted repository understand one another, and no other program does`() throws {
        try sandbox.sh(
            """
            echo secret > $R/password; export BACKUPFS_PASSWORD_FILE=$R/password
            rm -r $R/a $R/b
            backupfs init --app keeptrack --store $R/a --encrypt --repository $R/repository >/dev/null
            backupfs init --app keeptrack --store $R/b --repository $R/repository >/dev/null
            for device in a b; do
                sed -i '$i remotes:\\n  shared:\\n    url: '$R'/cloud\\n    after-backup: "no"' $R/$device/store.yaml
            done
            """)
        sandbox.variables["BACKUPFS_PASSWORD_FILE"] = sandbox("password")
        try switchOn()
        try add("a", 10, "Confidential water")
        for device in ["a", "b"] { _ = try sync(device) }
        #expect(try sql("b", "SELECT name FROM entries") == "Confidential water")
        #expect(try sandbox.sh("grep -rlaE 'Confidential|keeptrack|entries' $R/cloud || true") == "")
        #expect(try sandbox.sh("head -c 7 $R/cloud/devices/*/*.changes; head -c 7 $R/cloud/devices/group") == "bfssealbfsseal")
        // A plain store does not join them.
        try sandbox.sh(
            """
            backupfs init --app keeptrack --store $R/c >/dev/null
            sed -i '$i remotes:\\n  shared:\\n    url: '$R'/cloud' $R/c/store.yaml
            """)
        try switchOn("c")
        let before = try remote
        try sandbox.fails("backupfs device-sync --store $R/c", saying: "devices/group", exitCode: 1)
        #expect(try remote == before)
    }
}
