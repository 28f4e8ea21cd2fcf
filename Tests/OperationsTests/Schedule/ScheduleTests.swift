import Foundation
import TestSupport
import Testing

/// When backups are due: by the local calendar, across DST changes and clock jumps. The expected values were computed with
/// `systemd-analyze calendar` and with time zone tables.
struct ScheduleTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let schedule: String
        let zone: String
        let last: String
        let next: String?

        init(_ schedule: String, _ zone: String, after last: String, _ next: String?) {
            (self.schedule, self.zone, self.last, self.next) = (schedule, zone, last, next)
        }

        var testDescription: String { "\(schedule), \(zone), after \(last)" }
    }

    static let rows = [
        Row("daily", "UTC", after: "2026-01-11T14:30:00Z", "2026-01-12T00:00:00Z"),
        Row("daily", "UTC", after: "2026-01-12T00:00:00Z", "2026-01-13T00:00:00Z"),
        // DST begins and ends: days of 23 and 25 hours.
        Row("daily", "Europe/Berlin", after: "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
        Row("daily", "Europe/Berlin", after: "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
        // In these zones, midnight itself is skipped or repeated.
        Row("daily", "Africa/Cairo", after: "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"),
        Row("daily", "America/Havana", after: "2026-11-01T03:00:00Z", "2026-11-01T04:00:00Z"),
        Row("daily", "America/Havana", after: "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
        Row("*-*-* 02:30", "Europe/Berlin", after: "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"),
        Row("*-*-* 02:30", "Europe/Berlin", after: "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"),
        Row("*-*-* 02:30", "Europe/Berlin", after: "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        Row("*-*-* 02:30", "Europe/Berlin", after: "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        Row("*:00/30", "Europe/Berlin", after: "2026-03-29T00:45:00Z", "2026-03-29T01:00:00Z"),
        // A day that the calendar skipped.
        Row("daily", "Pacific/Apia", after: "2011-12-29T11:00:00Z", "2011-12-30T10:00:00Z"),
        Row("Mon..Fri 18:00", "UTC", after: "2026-01-09T18:00:00Z", "2026-01-12T18:00:00Z"),
        Row("sat..Mon 09:00", "UTC", after: "2026-01-09T18:00:00Z", "2026-01-10T09:00:00Z"),
        Row("Wednesday,fri 09:00,21:00", "UTC", after: "2026-01-09T09:00:00Z", nil),
        Row("Wednesday,fri 09:00", "UTC", after: "2026-01-09T09:00:00Z", "2026-01-14T09:00:00Z"),
        Row("*-*-* 09,21:00", "UTC", after: "2026-01-09T09:00:00Z", "2026-01-09T21:00:00Z"),
        Row("*-*-01 12:00", "UTC", after: "2026-01-11T00:00:00Z", "2026-02-01T12:00:00Z"),
        Row("*-02-29", "UTC", after: "2026-01-11T00:00:00Z", "2028-02-29T00:00:00Z"),
        Row("Fri *-*-13", "UTC", after: "2026-03-13T00:00:00Z", "2026-11-13T00:00:00Z"),
        Row("weekly", "UTC", after: "2026-01-11T00:00:00Z", "2026-01-12T00:00:00Z"),
        Row("monthly", "UTC", after: "2026-01-11T00:00:00Z", "2026-02-01T00:00:00Z"),
        Row("quarterly", "UTC", after: "2026-01-11T00:00:00Z", "2026-04-01T00:00:00Z"),
        Row("semiannually", "UTC", after: "2026-01-11T00:00:00Z", "2026-07-01T00:00:00Z"),
        Row("yearly", "UTC", after: "2026-01-11T00:00:00Z", "2027-01-01T00:00:00Z"),
        Row("hourly", "UTC", after: "2026-01-11T00:00:00Z", "2026-01-11T01:00:00Z"),
        Row("12-24 18:00:05", "UTC", after: "2026-01-11T00:00:00Z", "2026-12-24T18:00:05Z"),
        Row("every 24h", "UTC", after: "2026-01-11T14:30:00Z", "2026-01-12T14:30:00Z"),
        Row("every 24h", "Europe/Berlin", after: "2026-03-28T23:00:00Z", "2026-03-29T23:00:00Z"),
        Row("every 1h 30m", "UTC", after: "2026-01-11T14:30:00Z", "2026-01-11T16:00:00Z"),
        Row("every 1w", "UTC", after: "2026-01-11T14:30:00Z", "2026-01-18T14:30:00Z"),
    ]

    /// The next time, computed by a program that knows the last one.
    @Test(arguments: Rounds.part(of: rows.filter { $0.next != nil }, oneIn: 3))
    func `the next backup is due`(row: Row) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs config set schedule '\(row.schedule)' --store $S")
        #expect(try Self.next(sandbox, row.schedule, last: row.last, now: row.last, zone: row.zone) == row.next)
    }

    /// The time after `last` that `--if-due` reports.
    static func next(_ sandbox: Sandbox, _ schedule: String, last: String, now: String, zone: String = "UTC") throws -> String? {
        try sandbox.write("schedule: \(schedule)\nhandled-at: \(last)\n", to: "store/schedule.state")
        let output = try sandbox.sh("backupfs backup --if-due --json --store $S | tail -1", ["BACKUPFS_NOW": now, "TZ": zone])
        return try json(Array(output.utf8))["next"] as? String
    }

    @Test(arguments: [
        ("dayly", "Did you mean daily?"), ("every", "every 24h"), ("every 5s", "every 24h"), ("every 59", "every 24h"),
        ("every 0h", "every 24h"), ("every 400d", "every 24h"), ("Mon..Foo 10:00", "Mon..Fri 03:30"),
        ("24:00", "Mon..Fri 03:30"),
        ("10", "Mon..Fri 03:30"), ("*-13-01", "Mon..Fri 03:30"), ("*-02-30", "Write days that the calendar has."),
        ("2020-01-01", "Write days that the calendar has."), ("", "Mon..Fri 03:30"), ("*-*-* 10:00 UTC", "Mon..Fri 03:30"),
        ("*-*~01", "Mon..Fri 03:30"), ("10:00 Mon", "Mon..Fri 03:30"), ("5..3:00", "Mon..Fri 03:30"),
    ])
    func `what is no schedule is refused, and tells what is`(text: String, remedy: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null")
        let before = try sandbox.sh("sha256sum $S/store.yaml")
        let result = try sandbox.run(
            "backupfs config set schedule '\(text)' --store $S", ["BACKUPFS_NOW": "2026-01-11T00:00:00Z"])
        #expect(result.exitCode == 1)
        #expect(result.errors.contains(remedy) && result.errors.contains("store.yaml: line"), "\(result)")
        #expect(try sandbox.sh("sha256sum $S/store.yaml") == before)
    }

    @Test(arguments: ["daily", "Mon..Fri 18:00", "2026-12-24 18:00"])
    func `a store opens by a clock that is far off, and after the last day of its schedule`(schedule: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs backup --label one --store $S")
        try sandbox.sh(
            "backupfs config set schedule '\(schedule)' --store $S; backupfs config check --store $S",
            ["BACKUPFS_NOW": "2026-01-11T00:00:00Z"])
        for now in ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2027-01-01T00:00:00Z"] {
            let clock = ["BACKUPFS_NOW": now]
            try sandbox.sh(
                """
                backupfs snapshots --store $S; backupfs status --store $S; backupfs restore one --target $R/\(now) --store $S
                backupfs backup --if-due --store $S
                """, clock)
        }
        let ended = try sandbox.run("backupfs config check --store $S", ["BACKUPFS_NOW": "2027-01-01T00:00:00Z"])
        #expect(ended.exitCode == (schedule.hasPrefix("2026") ? 1 : 0), "\(ended)")
        #expect(ended.errors.contains("such a day never comes") == schedule.hasPrefix("2026"), "\(ended)")
    }

    /// Handling of clock jumps: (last, now) and the next due time.
    @Test(arguments: [
        // Set back by half an hour across midnight: the day has its backup.
        ("daily", "2026-01-12T00:00:05Z", "2026-01-11T23:30:00Z", "2026-01-13T00:00:00Z"),
        // It was years ahead for a while: how long ago the last backup was made is unknown.
        ("daily", "2031-06-01T00:00:00Z", "2026-01-11T12:00:00Z", "2026-01-11T13:00:00Z"),
        ("every 24h", "2031-06-01T00:00:00Z", "2026-01-11T12:00:00Z", "2026-01-11T13:00:00Z"),
    ])
    func `a clock that was wrong does not keep backups from being made`(
        schedule: String, last: String, now: String, next: String
    ) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs config set schedule '\(schedule)' --store $S")
        #expect(try Self.next(sandbox, schedule, last: last, now: now) == next)
    }

    /// One for each local day, although the program runs every half hour, in a zone with DST.
    @Test(
        arguments: Rounds.part(
            of: [("Europe/Berlin", "2026-03-28", "2026-03-31"), ("Europe/Berlin", "2026-10-24", "2026-10-27")], oneIn: 2))
    func `SCH-04: each local day has one backup`(zone: String, first: String, last: String) throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S >/dev/null; backupfs config set skip-unchanged no --store $S")
        let days = try sandbox.sh(
            """
            from=$(TZ=UTC date -d \(first) +%s); to=$(TZ=UTC date -d \(last) +%s)
            printf 'schedule: daily\\nhandled-at: \(first)T00:00:00Z\\n' > $S/schedule.state
            for ((t = from; t < to; t += 5400)); do
              BACKUPFS_NOW=$(TZ=UTC date -d @$t +%FT%TZ) backupfs backup --if-due --store $S
            done | grep -v Not | cut -c1-10 | tr '\\n' ' '
            """, ["TZ": zone])
        #expect(days == (first == "2026-03-28" ? "2026-03-29 2026-03-30 2026-03-31 " : "2026-10-25 2026-10-26 "))
    }
}
