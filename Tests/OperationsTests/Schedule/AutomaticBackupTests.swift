import Foundation
import TestSupport
import Testing

/// Backups started by a timer: when they are made, when not, and what happens to old ones.
struct AutomaticBackupTests {
    private func room(_ app: String = "ev-charging-tracker") throws -> Room {
        let room = try Room()
        try room.sh("backupfs init --app \(app) --store $S >/dev/null")
        return room
    }

    private func due(_ room: Room, _ now: String, _ extra: [String: String] = [:]) throws -> (status: Int32, text: String) {
        let result = try room.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now].merging(extra) { $1 })
        return (result.status, result.output.isEmpty ? result.complaint : result.output)
    }

    private func names(_ room: Room, _ options: String = "") throws -> String {
        try room.sh("backupfs snapshots --json --store $S \(options) | jq -r '[.[].name] | join(\" \")'")
    }

    private func change(_ room: Room, _ number: Int) throws {
        try room.sh(
            "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'device \(number)' WHERE key = 'device_name'\"")
    }

    @Test func `SCH-04, SCH-06: a new store begins with the next midnight, and catches up once`() throws {
        let room = try room()
        #expect(try due(room, "2026-01-10T10:00:00Z").text == "Not due until 2026-01-11 00:00:00.\n")
        #expect(try due(room, "2026-01-10T23:59:59Z").text == "Not due until 2026-01-11 00:00:00.\n")
        #expect(try due(room, "2026-01-11T00:00:00Z").text == "2026-01-11_00-00-00\n")
        #expect(try due(room, "2026-01-11T00:00:01Z").text == "Not due until 2026-01-12 00:00:00.\n")
        try change(room, 1)
        #expect(try due(room, "2026-01-20T08:00:00Z").text == "2026-01-20_08-00-00\n")
        #expect(try names(room, "--tag automatic") == "2026-01-11_00-00-00 2026-01-20_08-00-00")
        #expect(
            try room.sh("cat $S/schedule.state")
                == """
                schedule: daily
                handled-at: 2026-01-20T08:00:00Z
                result: made
                finished-at: 2026-01-20T08:00:00Z
                """)
    }

    @Test func `SCH-01: every 24 hours after the one before`() throws {
        let room = try room("keeptrack")
        #expect(try due(room, "2026-01-10T10:00:00Z").text == "Not due until 2026-01-11 10:00:00.\n")
        #expect(try due(room, "2026-01-11T09:00:00Z").text == "Not due until 2026-01-11 10:00:00.\n")
        #expect(try due(room, "2026-01-11T11:00:00Z").text == "2026-01-11_11-00-00\n")
        #expect(try due(room, "2026-01-12T10:59:59Z").text == "Not due until 2026-01-12 11:00:00.\n")
        #expect(try due(room, "2026-01-12T11:00:00Z").text == "Nothing has changed since the backup 2026-01-11_11-00-00.\n")
    }

    @Test func `what has not changed is not backed up again, unless it is wanted`() throws {
        let room = try room()
        try room.sh("backupfs backup --store $S --label mine", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(try due(room, "2026-01-11T00:00:00Z").text == "Nothing has changed since the backup mine.\n")
        let left = try room.sh("find $S/repository/packs $S/spool -type f ! -name CACHEDIR.TAG | sort | sha256sum")
        #expect(try due(room, "2026-01-12T00:00:00Z").text == "Nothing has changed since the backup mine.\n")
        #expect(try room.sh("find $S/repository/packs $S/spool -type f ! -name CACHEDIR.TAG | sort | sha256sum") == left)
        try change(room, 1)
        #expect(try due(room, "2026-01-13T00:00:00Z").text == "2026-01-13_00-00-00\n")
        try room.sh("backupfs config set skip-unchanged no --store $S")
        #expect(try due(room, "2026-01-14T00:00:00Z").text == "2026-01-14_00-00-00\n")
        #expect(try names(room) == "mine 2026-01-13_00-00-00 2026-01-14_00-00-00")
    }

    @Test func `media that have changed are backed up`() throws {
        let room = try Room()
        _ = try room.makeDiary()
        try room.sh("backupfs config set schedule daily --store $S")
        try room.sh("backupfs backup --store $S --label mine", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(try due(room, "2026-01-11T00:00:00Z").text == "Nothing has changed since the backup mine.\n")
        try room.sh("printf other > $S/app/photos/one.jpg")
        #expect(try due(room, "2026-01-12T00:00:00Z").text == "2026-01-12_00-00-00\n")
        try room.sh("rm $S/app/photos/one.jpg")
        #expect(try due(room, "2026-01-13T00:00:00Z").text == "2026-01-13_00-00-00\n")
        #expect(try due(room, "2026-01-14T00:00:00Z").text == "Nothing has changed since the backup 2026-01-13_00-00-00.\n")
    }

    @Test func `SCH-08: one that fails is tried again, later and later, and at the next start`() throws {
        let room = try room()
        #expect(try due(room, "2026-01-10T10:00:00Z").status == 0)
        let fault = ["BACKUPFS_FAULT": "backup.begun=fail"]
        #expect(try due(room, "2026-01-11T00:00:00Z", fault).status == 1)
        #expect(
            try room.sh("grep -E 'failures|retry|result' $S/schedule.state")
                == "result: failed\nfailures: 1\nretry-at: 2026-01-11T00:05:00Z")
        #expect(try room.sh("jq -r .operation $S/last-error.json") == "automatic backup")
        // Each run of the command counts as a start.
        #expect(try due(room, "2026-01-11T00:01:00Z", fault).status == 1)
        #expect(try room.sh("grep -E 'failures|retry' $S/schedule.state") == "failures: 2\nretry-at: 2026-01-11T00:11:00Z")
        for _ in 0..<8 { #expect(try due(room, "2026-01-11T00:02:00Z", fault).status == 1) }
        #expect(try room.sh("grep -E 'failures|retry' $S/schedule.state") == "failures: 10\nretry-at: 2026-01-11T06:02:00Z")
        #expect(try due(room, "2026-01-11T00:03:00Z").text == "2026-01-11_00-03-00\n")
        #expect(try room.sh("grep -cE 'failures|retry' $S/schedule.state || true") == "0")
        #expect(try due(room, "2026-01-11T00:04:00Z").text == "Not due until 2026-01-12 00:00:00.\n")
    }

    @Test func `without a schedule there is none, and a state that cannot be read is none`() throws {
        let room = try room("smilepile")
        #expect(try due(room, "2030-01-10T10:00:00Z").text == "There is no schedule.\n")
        let other = try self.room()
        try other.write("\u{0}nonsense", to: "store/schedule.state")
        #expect(try due(other, "2026-01-10T10:00:00Z").text == "Not due until 2026-01-11 00:00:00.\n")
        #expect(try due(other, "2026-01-11T10:00:00Z", ["BACKUPFS_SCHEDULE": "off"]).text == "There is no schedule.\n")
        #expect(try other.run("backupfs backup --if-due --label x --store $S").status == 2)
    }

    @Test func `two at the same time make one backup`() throws {
        let room = try room()
        #expect(try due(room, "2026-01-10T10:00:00Z").status == 0)
        let output = try room.sh(
            "for i in 1 2 3 4 5 6; do backupfs backup --if-due --store $S > $R/out$i 2>&1 & done; wait; cat $R/out*",
            ["BACKUPFS_NOW": "2026-01-11T00:00:00Z"])
        #expect(output.split(separator: "\n").filter { $0 == "2026-01-11_00-00-00" }.count == 1, "\(output)")
        #expect(try names(room) == "2026-01-11_00-00-00")
    }

    // MARK: - What is kept

    @Test func `RET-03: an EV charging tracker keeps five without a name, and what has one`() throws {
        let room = try room()
        try room.sh(
            """
            backupfs backup --label before-upgrade --store $S
            for day in 11 12 13 14 15 16 17; do BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --store $S; done
            """, ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(
            try names(room)
                == "before-upgrade 2026-01-13_10-00-00 2026-01-14_10-00-00 2026-01-15_10-00-00 2026-01-16_10-00-00 2026-01-17_10-00-00"
        )
        // A pinned one is kept, and counts as one of the five; a renamed one no longer counts.
        try room.sh("backupfs pin 2026-01-13_10-00-00 --store $S >/dev/null")
        let summary = try room.sh(
            "backupfs backup --json --store $S | tail -1 | jq -c .removed", ["BACKUPFS_NOW": "2026-01-18T10:00:00Z"])
        #expect(summary == "[]")
        #expect(
            try room.sh("backupfs backup --json --store $S | tail -1 | jq -c .removed", ["BACKUPFS_NOW": "2026-01-19T10:00:00Z"])
                == #"["2026-01-14_10-00-00"]"#)
    }

    /// By age alone: 30 days are kept, one more second is not. Backups follow each other within a week, so the clock is trusted.
    @Test func `RET-04: none is older than thirty days, but the newest`() throws {
        let room = try room()
        try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-01T10:00:00Z"])
        for day in ["08", "15", "22", "29"] {
            try room.sh("backupfs backup --label w\(day) --store $S", ["BACKUPFS_NOW": "2026-01-\(day)T10:00:00Z"])
        }
        try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-31T10:00:00Z"])
        #expect(try names(room) == "2026-01-01_10-00-00 w08 w15 w22 w29 2026-01-31_10-00-00")
        try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-31T10:00:01Z"])
        #expect(try names(room) == "w08 w15 w22 w29 2026-01-31_10-00-00 2026-01-31_10-00-01")
        // A year later the clock may be wrong, or the machine was off: that makes none too old.
        #expect(
            try room.sh(
                "backupfs forget --dry-run --json --store $S | jq '.remove | length'", ["BACKUPFS_NOW": "2027-01-01T00:00:00Z"])
                == "0")
    }

    @Test func `RET-01: KeepTrack keeps five automatic ones, and all that were made by hand`() throws {
        let room = try room("keeptrack")
        try room.sh(
            """
            backupfs config set skip-unchanged no --store $S
            for day in 10 11 12 13 14 15 16 17; do
              BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --if-due --store $S >/dev/null
              BACKUPFS_NOW=2026-01-${day}T12:00:00Z backupfs backup --store $S >/dev/null
            done
            """)
        #expect(
            try room.sh("backupfs snapshots --tag automatic --json --store $S | jq -r '[.[].name[8:10]] | join(\" \")'")
                == "13 14 15 16 17")
        #expect(try room.sh("backupfs snapshots --json --store $S | jq '[.[] | select(.tags == [])] | length'") == "8")
    }

    @Test func `the settings have the last word`() throws {
        let room = try room()
        try room.sh("backupfs config set keep-last 2 --store $S; backupfs config set retention-counts all --store $S")
        for name in ["a", "b", "c"] { try room.sh("backupfs backup --label \(name) --store $S; sleep 0.01") }
        #expect(try names(room) == "b c")
        try room.sh("backupfs config set retention off --store $S")
        for name in ["d", "e"] { try room.sh("backupfs backup --label \(name) --store $S; sleep 0.01") }
        #expect(try names(room) == "b c d e")
    }

    @Test func `room is given back once a week`() throws {
        let room = try room()
        try room.sh("backupfs config set keep-last 1 --store $S")
        for day in 10...20 {
            try change(room, day)
            _ = try due(room, "2026-01-\(day)T10:00:00Z")
        }
        #expect(try room.sh("grep -E 'prune' $S/schedule.state") == "needs-prune: yes\npruned-at: 2026-01-19T10:00:00Z")
        #expect(try room.run("backupfs check --read-data --store $S").status == 0)
    }
}
