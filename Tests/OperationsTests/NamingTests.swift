import BackupCore
import Foundation
import TestSupport
import Testing

@testable import Operations

/// Names derived from the clock, in the time zone of the user who runs the program.
struct NamingTests {
    @Test func `EXP-08: several backups within one second get numbers, and keep them`() throws {
        let sandbox = try Sandbox()
        let now = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]
        try sandbox.sh("backupfs init --store $S >/dev/null", now)
        let backup = "backupfs backup --store $S"
        #expect(
            try sandbox.sh("\(backup); \(backup); \(backup)", now)
                == "2026-01-11_14-30-00\n2026-01-11_14-30-00_2\n2026-01-11_14-30-00_3")
        let store = try Store.open(sandbox.storePath)
        func exports() -> [String] { store.repository.snapshots(kind: .snapshot).map { store.exportFile(of: $0).name } }
        #expect(
            exports() == [
                "ev_charging_tracker_backup_2026-01-11_14-30-00.json", "ev_charging_tracker_backup_2026-01-11_14-30-00_2.json",
                "ev_charging_tracker_backup_2026-01-11_14-30-00_3.json",
            ])
        // The others keep their names when the first is deleted, and when one is renamed.
        try store.removeSnapshot(store.repository.snapshots()[0])
        try store.renameSnapshot(store.repository.snapshots()[0], to: "mine")
        #expect(
            Set(exports()) == [
                "ev_charging_tracker_backup_2026-01-11_14-30-00_2.json", "ev_charging_tracker_backup_2026-01-11_14-30-00_3.json",
            ])
        // The free name is used again, and no two files have the same one.
        #expect(try sandbox.sh(backup, now) == "2026-01-11_14-30-00")
        try store.repository.refresh()
        #expect(Set(exports()).count == 3)
    }

    @Test func `safety backups within one second`() throws {
        let sandbox = try Sandbox()
        let now = ["BACKUPFS_NOW": "2026-01-11T14:30:00Z"]
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs backup --store $S --label one", now)
        for _ in 0..<3 { try sandbox.sh("backupfs restore one --yes --store $S", now) }
        let store = try Store.open(sandbox.storePath)
        #expect(
            store.repository.snapshots(kind: .safety).map { store.safetyFile(of: $0).name } == [
                "safety_backup_before_import_2026-01-11_14-30-00.json", "safety_backup_before_import_2026-01-11_14-30-00_2.json",
                "safety_backup_before_import_2026-01-11_14-30-00_3.json",
            ])
    }

    @Test(arguments: [
        ("UTC", "2026-01-11T14:30:00Z", "2026-01-11_14-30-00"), ("Europe/Berlin", "2026-01-11T14:30:00Z", "2026-01-11_15-30-00"),
        ("America/New_York", "2026-01-01T03:00:00Z", "2025-12-31_22-00-00"),
        ("Asia/Kathmandu", "2026-01-11T14:30:00Z", "2026-01-11_20-15-00"),
        // The hour that repeats when DST ends, and the moment of the gap when DST begins.
        ("Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25_02-30-00"),
        ("Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25_02-30-00"),
        ("Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29_01-59-59"),
        ("Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29_03-00-00"),
    ])
    func `the local time, summer time included`(zone: String, now: String, name: String) throws {
        let sandbox = try Sandbox()
        let environment = ["TZ": zone, "BACKUPFS_NOW": now]
        try sandbox.sh("backupfs init --store $S >/dev/null", environment)
        #expect(try sandbox.sh("backupfs backup --store $S", environment) == name)
        #expect(try sandbox.sh("backupfs snapshots --json --store $S", environment).contains("\"\(now)\""))
    }

    @Test func `the hour that comes twice gives two names`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        for (now, name) in [("2026-10-25T00:30:00Z", "2026-10-25_02-30-00"), ("2026-10-25T01:30:00Z", "2026-10-25_02-30-00_2")] {
            #expect(try sandbox.sh("backupfs backup --store $S", ["TZ": "Europe/Berlin", "BACKUPFS_NOW": now]) == name)
        }
        #expect(try Store.open(sandbox.storePath).snapshot(named: "latest").name == "2026-10-25_02-30-00_2")
    }
}
