import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import Operations

/// Exports are complete or absent, and equal by every route.
struct ExportTests {
    private static func makeStore(_ sandbox: Sandbox) throws -> Store {
        var creation = StoreCreation()
        creation.sampleRecordCount = 40
        let store = try creation.create(at: sandbox.storePath)
        _ = try BackupOperation(store: store).run(label: "one", tag: nil, progress: nil)
        try sandbox.sh("sqlite3 $S/app/database.sqlite 'delete from expenses where id > 10'")
        return store
    }

    @Test func `FEV-12: live data and a backup, as one file each`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        let live = try ExportOperation(store: store, snapshotName: nil).write(.json, to: sandbox("live.json"))
        #expect(live == sandbox("live.json"))
        try ExportOperation(store: store, snapshotName: "one").write(.json, to: sandbox("one.json"))
        try ExportOperation(store: store, snapshotName: "latest").write(.archive(.zip), to: sandbox("one.zip"))
        #expect(try FileSystem.readFile(sandbox("one.json")) == store.file("export.json", in: "one"))
        let counts = try ["live.json", "one.json"].map {
            try (json(FileSystem.readFile(sandbox($0)))["expenses"] as? [Any])?.count
        }
        #expect(counts == [10, 40])
        try sandbox.sh(
            "unzip -tqq $R/one.zip; unzip -p $R/one.zip export.json | cmp - $R/one.json; backupfs export one --store $S -o - | cmp - $R/one.json"
        )
        #expect(try sandbox.sh("stat -c %a $R/one.json") == "600")
        // The existing file is replaced.
        try ExportOperation(store: store, snapshotName: "one").write(.json, to: sandbox("live.json"))
        try sandbox.sh("cmp $R/one.json $R/live.json")
        #expect(try sandbox.sh("ls $R") == "bin\nlive.json\none.json\none.zip\nstore")
    }

    /// From a database with a log the records are written directly into the file, otherwise through a rendering.
    @Test(arguments: ["wal", "delete"])
    func `live records come out as Python and the mount have them, however the database is written`(_ mode: String) throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        #expect(try sandbox.sh("sqlite3 $S/app/database.sqlite 'pragma journal_mode = \(mode)'") == mode)
        let now = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]
        try sandbox.sh("backupfs export --json -o $R/file.json --store $S", now)
        try sandbox.sh("backupfs export --json -o - --store $S > $R/piped.json; cmp $R/file.json $R/piped.json", now)
        let script = """
            import json, sqlite3, sys
            records = json.load(open(sys.argv[1]))
            rows = sqlite3.connect(sys.argv[2]).execute("select id, notes, cost from expenses order by id")
            print(records["metadata"]["createdAt"], [(r["id"], r.get("notes"), r.get("cost")) for r in records["expenses"]] == list(rows))
            """
        #expect(
            try sandbox.sh("python3 -c \"$SCRIPT\" $R/file.json $S/app/database.sqlite", ["SCRIPT": script])
                == "2026-01-11T14:30:00Z True")
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool; ls $R") == "bin\nfile.json\npiped.json\nstore")
        // Errors of the database carry its path, not that of the file.
        try sandbox.sh("rm $S/app/database.sqlite*")
        let missing = failure { try ExportOperation(store: store, snapshotName: nil).write(.json, to: sandbox("file.json")) }
        #expect(missing?.code == .notFound)
        #expect(missing?.path == sandbox("store/app/database.sqlite"))
        #expect(try sandbox.sh("jq '.expenses | length' $R/file.json; ls $R") == "10\nbin\nfile.json\npiped.json\nstore")
    }

    @Test func `EXP-14: a failure leaves no part of a file, and the old one where there was one`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        let export = ExportOperation(store: store, snapshotName: "one")
        #expect(failure { try export.write(.json, to: sandbox("none/one.json")) }?.code == .notFound)
        try sandbox.sh(
            "mkdir $R/folder; echo old > $R/old.json; ulimit -f 8; backupfs export one --json -o $R/old.json --store $S 2>/dev/null && exit 1; exit 0"
        )
        #expect(failure { try export.write(.json, to: sandbox("folder")) }?.code == .isADirectory)
        #expect(
            failure { try ExportOperation(store: store, snapshotName: "none").write(.json, to: sandbox("x")) }?.code == .notFound)
        #expect(try sandbox.sh("cat $R/old.json; ls -A $R/folder; ls $R") == "old\nbin\nfolder\nold.json\nstore")
    }

    @Test func `EXP-14: a device is written to and never replaced`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        #expect(
            failure { try ExportOperation(store: store, snapshotName: "one").write(.json, to: "/dev/full") }?.code == .noSpace)
        try ExportOperation(store: store, snapshotName: "one").write(.json, to: "/dev/null")
        #expect(
            try sandbox.sh("stat -c %F /dev/full /dev/null; ls /dev | grep -c part || true")
                == "character special file\ncharacter special file\n0")
        let result = try sandbox.run("backupfs export one --store $S -o - > /dev/full")
        #expect(result.exitCode == 1)
        #expect(result.errors.contains("No space left on device"))
    }

    @Test func `CSV of the live data and of a backup`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        let files = try ExportOperation(store: store, snapshotName: nil).writeCSV(to: sandbox("live"))
        #expect(
            files.map(FileSystem.lastComponent).sorted() == [
                "cars.csv", "delayedNotifications.csv", "expenses.csv", "plannedMaintenance.csv",
            ])
        _ = try ExportOperation(store: store, snapshotName: "one").writeCSV(to: sandbox("one"))
        let script = """
            import csv, json, sys
            export = json.load(open(sys.argv[2]))
            for name in ("cars", "expenses", "plannedMaintenance", "delayedNotifications"):
                rows = list(csv.DictReader(open(f"{sys.argv[1]}/{name}.csv", newline="", encoding="utf-8")))
                assert [str(r["id"]) for r in export[name]] == [r["id"] for r in rows], name
                print(name, len(rows))
            """
        try sandbox.write(script, to: "check.py")
        try sandbox.sh("backupfs export one --json -o $R/one.json --store $S; backupfs export --json -o $R/live.json --store $S")
        #expect(try sandbox.sh("python3 $R/check.py $R/one $R/one.json | head -2") == "cars 3\nexpenses 40")
        #expect(try sandbox.sh("python3 $R/check.py $R/live $R/live.json | sed -n 2p") == "expenses 10")
        #expect(try sandbox.sh("ls -A -I CACHEDIR.TAG $S/spool") == "")
    }

    @Test func `EXP-11: the app's own file name, if none is given`() throws {
        let sandbox = try Sandbox()
        _ = try Self.makeStore(sandbox)
        #expect(
            try sandbox.sh(
                "mkdir $R/here; cd $R/here; backupfs export --store $S; backupfs export --zip --store $S; ls",
                ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"])
                    == """
                    ev_charging_tracker_export_2026-01-11_14-30-00.json
                    ev_charging_tracker_export_2026-01-11_14-30-00.zip
                    ev_charging_tracker_export_2026-01-11_14-30-00.json
                    ev_charging_tracker_export_2026-01-11_14-30-00.zip
                    """)
    }

    @Test func `the status for programs and for people`() throws {
        let sandbox = try Sandbox()
        let store = try Self.makeStore(sandbox)
        let document = try json(StatusDocument(of: store).json.prettyText)
        #expect(
            document.keys.sorted() == [
                "adopted", "app", "databaseError", "deviceSync", "history", "lastBackup", "lastError", "leftFileCount",
                "nextBackup",
                "operation",
                "otherSnapshotCount", "photos", "records", "remotes", "removedBackupCount", "repositoryAsOf",
                "repositoryError", "retention", "safetyBackupCount", "schedule",
                "schedulePausedUntil", "scheduleSwitchedOffBy", "snapshotCount",
                "source", "state", "statistics", "store", "successor", "title",
            ])
        #expect(document["state"] as? String == "idle")
        #expect(document["snapshotCount"] as? Int == 1)
        #expect((document["lastBackup"] as? [String: Any])?["name"] as? String == "one")
        #expect((document["records"] as? [String: Int])?["expenses"] == 10)
        let retention = try #require(document["retention"] as? [String: Any])
        #expect(retention["keepLast"] as? Int == 5 && retention["keepWithinDays"] as? Int == 30)
        #expect(retention["safetyKeepLast"] as? Int == 3 && retention["counts"] as? String == "unnamed")
        #expect(retention["on"] as? Bool == true && retention["settings"] is NSNull)
        #expect(document["schedule"] as? String == "daily")
        let next = try sandbox.sh(
            "backupfs status --json --store $S | jq -r .nextBackup", ["TZ": "UTC", "BACKUPFS_NOW": "2026-01-11T10:00:00Z"])
        // By this clock the backup is from the future, so its real time is unknown: the next one comes an hour later, not at
        // midnight.
        #expect(next == "2026-01-11T11:00:00Z")
        try sandbox.sh("backupfs config set keep-daily 7 --store $S; backupfs config set keep-within 1y --store $S")
        #expect(
            try sandbox.sh("backupfs status --json --store $S | jq -c '.retention | [.keepLast, .settings]'")
                == #"[null,{"keep-daily":"7","keep-within":"1y"}]"#)
        #expect(document["operation"] is NSNull && document["lastError"] is NSNull)
        #expect((document["remotes"] as? [Any])?.isEmpty == true)
        let lines = try sandbox.sh("backupfs status --store $S").split(separator: "\n")
        #expect(lines.first == "EV Charging Tracker (ev-charging-tracker)")
        #expect(lines.contains("Nothing is running."))
        // Reading the state from many processes concurrently disturbs none of them.
        let states = try sandbox.sh(
            "for i in 1 2 3 4 5 6 7 8; do backupfs status --json --store $S | grep '\"state\"' & done; wait")
        #expect(Set(states.split(separator: "\n")) == ["  \"state\": \"idle\","])
    }
}
