import Foundation
import TestSupport
import Testing

/// Backups started by a timer: when they are made, when not, and what happens to old ones.
struct AutomaticBackupTests {
    private func sandbox(_ app: String = "ev-charging-tracker") throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --app \(app) --store $S >/dev/null")
        return sandbox
    }

    private func due(_ sandbox: Sandbox, _ now: String, _ extra: [String: String] = [:]) throws -> (exitCode: Int32, text: String)
    {
        let result = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now].merging(extra) { $1 })
        return (result.exitCode, result.output.isEmpty ? result.errors : result.output)
    }

    private func names(_ sandbox: Sandbox, _ options: String = "") throws -> String {
        try sandbox.sh("backupfs snapshots --json --store $S \(options) | jq -r '[.[].name] | join(\" \")'")
    }

    private func change(_ sandbox: Sandbox, _ number: Int) throws {
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'device \(number)' WHERE key = 'device_name'\"")
    }

    @Test func `SCH-04, SCH-06: a new store begins with the next midnight, and catches up once`() throws {
        let sandbox = try sandbox()
        #expect(try due(sandbox, "2026-01-10T10:00:00Z").text == "Not due until 2026-01-11 00:00:00.\n")
        #expect(try due(sandbox, "2026-01-10T23:59:59Z").text == "Not due until 2026-01-11 00:00:00.\n")
        #expect(try due(sandbox, "2026-01-11T00:00:00Z").text == "2026-01-11_00-00-00\n")
        #expect(try due(sandbox, "2026-01-11T00:00:01Z").text == "Not due until 2026-01-12 00:00:00.\n")
        try change(sandbox, 1)
        #expect(try due(sandbox, "2026-01-20T08:00:00Z").text == "2026-01-20_08-00-00\n")
        #expect(try names(sandbox, "--tag automatic") == "2026-01-11_00-00-00 2026-01-20_08-00-00")
        #expect(
            try sandbox.sh("cat $S/schedule.state")
                == """
                schedule: daily
                handled-at: 2026-01-20T08:00:00Z
                result: made
                finished-at: 2026-01-20T08:00:00Z
                """)
    }

    @Test func `SCH-01: every 24 hours after the one before`() throws {
        let sandbox = try sandbox("keeptrack")
        #expect(try due(sandbox, "2026-01-10T10:00:00Z").text == "Not due until 2026-01-11 10:00:00.\n")
        #expect(try due(sandbox, "2026-01-11T09:00:00Z").text == "Not due until 2026-01-11 10:00:00.\n")
        #expect(try due(sandbox, "2026-01-11T11:00:00Z").text == "2026-01-11_11-00-00\n")
        #expect(try due(sandbox, "2026-01-12T10:59:59Z").text == "Not due until 2026-01-12 11:00:00.\n")
        #expect(try due(sandbox, "2026-01-12T11:00:00Z").text == "Nothing has changed since the backup 2026-01-11_11-00-00.\n")
    }

    @Test func `what has not changed is not backed up again, unless it is wanted`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs backup --store $S --label mine", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(try due(sandbox, "2026-01-11T00:00:00Z").text == "Nothing has changed since the backup mine.\n")
        let left = try sandbox.sh("find $S/repository/packs $S/spool -type f ! -name CACHEDIR.TAG | sort | sha256sum")
        #expect(try due(sandbox, "2026-01-12T00:00:00Z").text == "Nothing has changed since the backup mine.\n")
        #expect(try sandbox.sh("find $S/repository/packs $S/spool -type f ! -name CACHEDIR.TAG | sort | sha256sum") == left)
        try change(sandbox, 1)
        #expect(try due(sandbox, "2026-01-13T00:00:00Z").text == "2026-01-13_00-00-00\n")
        try sandbox.sh("backupfs config set skip-unchanged no --store $S")
        #expect(try due(sandbox, "2026-01-14T00:00:00Z").text == "2026-01-14_00-00-00\n")
        #expect(try names(sandbox) == "mine 2026-01-13_00-00-00 2026-01-14_00-00-00")
    }

    @Test func `media that have changed are backed up`() throws {
        let sandbox = try Sandbox()
        _ = try sandbox.makeDiary()
        try sandbox.sh("backupfs config set schedule daily --store $S")
        try sandbox.sh("backupfs backup --store $S --label mine", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(try due(sandbox, "2026-01-11T00:00:00Z").text == "Nothing has changed since the backup mine.\n")
        try sandbox.sh("printf other > $S/app/photos/one.jpg")
        #expect(try due(sandbox, "2026-01-12T00:00:00Z").text == "2026-01-12_00-00-00\n")
        try sandbox.sh("rm $S/app/photos/one.jpg")
        #expect(try due(sandbox, "2026-01-13T00:00:00Z").text == "2026-01-13_00-00-00\n")
        #expect(try due(sandbox, "2026-01-14T00:00:00Z").text == "Nothing has changed since the backup 2026-01-13_00-00-00.\n")
    }

    @Test func `SCH-08: one that fails is tried again, later and later, and at the next start`() throws {
        let sandbox = try sandbox()
        #expect(try due(sandbox, "2026-01-10T10:00:00Z").exitCode == 0)
        let fault = ["BACKUPFS_FAULT": "backup.begun=fail"]
        #expect(try due(sandbox, "2026-01-11T00:00:00Z", fault).exitCode == 1)
        #expect(
            try sandbox.sh("grep -E 'failures|retry|result' $S/schedule.state")
                == "result: failed\nfailures: 1\nretry-at: 2026-01-11T00:05:00Z")
        #expect(try sandbox.sh("jq -r .operation $S/last-error.json") == "automatic backup")
        // Each run of the command counts as a start.
        #expect(try due(sandbox, "2026-01-11T00:01:00Z", fault).exitCode == 1)
        #expect(try sandbox.sh("grep -E 'failures|retry' $S/schedule.state") == "failures: 2\nretry-at: 2026-01-11T00:11:00Z")
        for _ in 0..<8 { #expect(try due(sandbox, "2026-01-11T00:02:00Z", fault).exitCode == 1) }
        #expect(try sandbox.sh("grep -E 'failures|retry' $S/schedule.state") == "failures: 10\nretry-at: 2026-01-11T06:02:00Z")
        #expect(try due(sandbox, "2026-01-11T00:03:00Z").text == "2026-01-11_00-03-00\n")
        #expect(try sandbox.sh("grep -cE 'failures|retry' $S/schedule.state || true") == "0")
        #expect(try due(sandbox, "2026-01-11T00:04:00Z").text == "Not due until 2026-01-12 00:00:00.\n")
    }

    @Test func `without a schedule there is none, and a state that cannot be read is none`() throws {
        let sandbox = try sandbox("smilepile")
        #expect(try due(sandbox, "2030-01-10T10:00:00Z").text == "There is no schedule.\n")
        let other = try self.sandbox()
        try other.write("\u{0}nonsense", to: "store/schedule.state")
        #expect(try due(other, "2026-01-10T10:00:00Z").text == "Not due until 2026-01-11 00:00:00.\n")
        #expect(try due(other, "2026-01-11T10:00:00Z", ["BACKUPFS_SCHEDULE": "off"]).text == "There is no schedule.\n")
        #expect(try other.run("backupfs backup --if-due --label x --store $S").exitCode == 2)
    }

    @Test func `two at the same time make one backup`() throws {
        let sandbox = try sandbox()
        #expect(try due(sandbox, "2026-01-10T10:00:00Z").exitCode == 0)
        let output = try sandbox.sh(
            "for i in 1 2 3 4 5 6; do backupfs backup --if-due --store $S > $R/out$i 2>&1 & done; wait; cat $R/out*",
            ["BACKUPFS_NOW": "2026-01-11T00:00:00Z"])
        #expect(output.split(separator: "\n").filter { $0 == "2026-01-11_00-00-00" }.count == 1, "\(output)")
        #expect(try names(sandbox) == "2026-01-11_00-00-00")
    }

    // MARK: - What is kept

    @Test func `RET-03: an EV charging tracker keeps five without a name, and what has one`() throws {
        let sandbox = try sandbox()
        try sandbox.sh(
            """
            backupfs backup --label before-upgrade --store $S
            for day in 11 12 13 14 15 16 17; do BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --store $S; done
            """, ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(
            try names(sandbox)
                == "before-upgrade 2026-01-13_10-00-00 2026-01-14_10-00-00 2026-01-15_10-00-00 2026-01-16_10-00-00 2026-01-17_10-00-00"
        )
        // A pinned one is kept, and counts as one of the five; a renamed one no longer counts.
        try sandbox.sh("backupfs pin 2026-01-13_10-00-00 --store $S >/dev/null")
        let summary = try sandbox.sh(
            "backupfs backup --json --store $S | tail -1 | jq -c .removed", ["BACKUPFS_NOW": "2026-01-18T10:00:00Z"])
        #expect(summary == "[]")
        #expect(
            try sandbox.sh(
                "backupfs backup --json --store $S | tail -1 | jq -c .removed", ["BACKUPFS_NOW": "2026-01-19T10:00:00Z"])
                == #"["2026-01-14_10-00-00"]"#)
    }

    /// By age alone: 30 days are kept, one more second is not. Backups follow each other within a week, so the clock is trusted.
    @Test func `RET-04: none is older than thirty days, but the newest`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-01T10:00:00Z"])
        for day in ["08", "15", "22", "29"] {
            try sandbox.sh("backupfs backup --label w\(day) --store $S", ["BACKUPFS_NOW": "2026-01-\(day)T10:00:00Z"])
        }
        try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-31T10:00:00Z"])
        #expect(try names(sandbox) == "2026-01-01_10-00-00 w08 w15 w22 w29 2026-01-31_10-00-00")
        try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-31T10:00:01Z"])
        #expect(try names(sandbox) == "w08 w15 w22 w29 2026-01-31_10-00-00 2026-01-31_10-00-01")
        // A year later the clock may be wrong, or the machine was off: that makes none too old.
        #expect(
            try sandbox.sh(
                "backupfs forget --dry-run --json --store $S | jq '.remove | length'", ["BACKUPFS_NOW": "2027-01-01T00:00:00Z"])
                == "0")
    }

    @Test func `RET-01: KeepTrack keeps five automatic ones, and all that were made by hand`() throws {
        let sandbox = try sandbox("keeptrack")
        try sandbox.sh(
            """
            backupfs config set skip-unchanged no --store $S
            for day in 10 11 12 13 14 15 16 17; do
              BACKUPFS_NOW=2026-01-${day}T10:00:00Z backupfs backup --if-due --store $S >/dev/null
              BACKUPFS_NOW=2026-01-${day}T12:00:00Z backupfs backup --store $S >/dev/null
            done
            """)
        #expect(
            try sandbox.sh("backupfs snapshots --tag automatic --json --store $S | jq -r '[.[].name[8:10]] | join(\" \")'")
                == "13 14 15 16 17")
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq '[.[] | select(.tags == [])] | length'") == "8")
    }

    @Test func `the settings have the last word`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs config set keep-last 2 --store $S; backupfs config set retention-counts all --store $S")
        for name in ["a", "b", "c"] { try sandbox.sh("backupfs backup --label \(name) --store $S; sleep 0.01") }
        #expect(try names(sandbox) == "b c")
        try sandbox.sh("backupfs config set retention off --store $S")
        for name in ["d", "e"] { try sandbox.sh("backupfs backup --label \(name) --store $S; sleep 0.01") }
        #expect(try names(sandbox) == "b c d e")
    }

    @Test func `space is freed once a week`() throws {
        let sandbox = try sandbox()
        try sandbox.sh("backupfs config set keep-last 1 --store $S")
        for day in 10...20 {
            try change(sandbox, day)
            _ = try due(sandbox, "2026-01-\(day)T10:00:00Z")
        }
        #expect(try sandbox.sh("grep -E 'prune' $S/schedule.state") == "needs-prune: yes\npruned-at: 2026-01-19T10:00:00Z")
        #expect(try sandbox.run("backupfs check --read-data --store $S").exitCode == 0)
    }
}
