import BackupCore
import Foundation
import SystemIO
import TestSupport
import Testing

@testable import AppData
@testable import Operations

/// The schedule on a machine whose clock was ahead for a while: nothing that it recorded then stops later backups.
struct WrongClockTests {
    private func sandbox(_ schedule: String) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            "backupfs init --app ev-charging-tracker --store $S >/dev/null; backupfs config set schedule '\(schedule)' --store $S"
        )
        return sandbox
    }

    private func due(_ sandbox: Sandbox, _ now: String, _ extra: [String: String] = [:]) throws -> String {
        let result = try sandbox.run("backupfs backup --if-due --store $S", ["BACKUPFS_NOW": now].merging(extra) { $1 })
        return result.output.isEmpty ? result.errors : String(result.output.dropLast())
    }

    private func change(_ sandbox: Sandbox, _ number: Int) throws {
        try sandbox.sh(
            "sqlite3 $S/app/database.sqlite \"UPDATE app_metadata SET value = 'device \(number)' WHERE key = 'device_name'\"")
    }

    /// Called once a day, as by a timer.
    private func days(_ sandbox: Sandbox, _ days: ClosedRange<Int>) throws -> [String] {
        try days.map { day in
            try change(sandbox, day)
            return try due(sandbox, "2026-06-\(day)T01:00:00Z")
        }
    }

    @Test(arguments: ["daily", "every 24h"])
    func `backups go on after one by a clock that was years ahead`(schedule: String) throws {
        let sandbox = try sandbox(schedule)
        _ = try due(sandbox, "2026-06-10T01:00:00Z")
        #expect(try due(sandbox, "2026-06-11T01:00:00Z") == "2026-06-11_01-00-00")
        try change(sandbox, 1)
        #expect(try due(sandbox, "2031-06-02T12:00:00Z") == "2031-06-02_12-00-00")
        #expect(
            try days(sandbox, 12...15) == [
                "Not due until 2026-06-12 02:00:00.", "2026-06-13_01-00-00", "2026-06-14_01-00-00", "2026-06-15_01-00-00",
            ])
        #expect(try sandbox.sh("grep -c behind $S/schedule.state || true") == "0")
    }

    @Test(arguments: ["daily", "every 24h"])
    func `backups go on after one that was skipped by that clock`(schedule: String) throws {
        let sandbox = try sandbox(schedule)
        _ = try due(sandbox, "2026-06-10T01:00:00Z")
        #expect(try due(sandbox, "2026-06-11T01:00:00Z") == "2026-06-11_01-00-00")
        #expect(try due(sandbox, "2031-06-02T12:00:00Z") == "Nothing has changed since the backup 2026-06-11_01-00-00.")
        #expect(try days(sandbox, 12...13) == ["Not due until 2026-06-12 02:00:00.", "2026-06-13_01-00-00"])
    }

    @Test func `backups go on after one that failed by that clock`() throws {
        let sandbox = try sandbox("daily")
        _ = try due(sandbox, "2026-06-10T01:00:00Z")
        _ = try due(sandbox, "2031-06-02T12:00:00Z", ["BACKUPFS_FAULT": "backup.begun=fail"])
        // Each run of the command counts as a start: a failed backup is retried immediately.
        #expect(try days(sandbox, 11...12) == ["2026-06-11_01-00-00", "2026-06-12_01-00-00"])
    }

    @Test func `backups begin where the newest one is of the future and the schedule is new`() throws {
        let sandbox = try sandbox("daily")
        try sandbox.sh("backupfs backup --label mine --store $S", ["BACKUPFS_NOW": "2031-06-02T12:00:00Z"])
        #expect(try days(sandbox, 12...13) == ["Not due until 2026-06-12 02:00:00.", "2026-06-13_01-00-00"])
    }

    @Test func `a clock that starts without a battery and is put right brings no other backup`() throws {
        let sandbox = try sandbox("daily")
        _ = try due(sandbox, "2026-06-10T01:00:00Z")
        #expect(try due(sandbox, "2026-06-11T01:00:00Z") == "2026-06-11_01-00-00")
        for hour in ["02", "03", "04"] {
            try change(sandbox, try #require(Int(hour)))
            #expect(try due(sandbox, "2020-01-01T00:00:10Z") == "Not due until 2020-01-01 01:00:10.")
            #expect(try due(sandbox, "2026-06-11T\(hour):00:00Z") == "Not due until 2026-06-12 00:00:00.")
        }
    }

    /// The checks of a mount every half minute, without a start: (schedule, handled-at, retry-at), the times of the checks, and
    /// what is due at each.
    @Test(
        arguments: [
            (
                "every 1m", "2031-06-02T12:00:00Z", nil,
                ["2026-06-02T12:00:00Z", "2026-06-02T12:00:30Z", "2026-06-02T12:01:00Z"], "2026-06-02T12:01:00Z"
            ),
            // Not so far ahead that the day's backup would not count, but an interval has passed anyway.
            ("every 1m", "2026-06-02T20:00:00Z", nil, ["2026-06-02T12:00:00Z", "2026-06-02T12:00:30Z"], "2026-06-02T12:01:00Z"),
            ("daily", "2026-06-02T20:00:00Z", nil, ["2026-06-02T12:00:00Z", "2026-06-02T12:00:30Z"], "2026-06-03T00:00:00Z"),
            ("daily", "2031-06-02T12:00:00Z", nil, ["2026-06-02T12:00:00Z", "2026-06-02T12:30:00Z"], "2026-06-02T13:00:00Z"),
            ("daily", "2031-06-02T12:00:00Z", nil, ["2026-06-02T23:30:00Z", "2026-06-02T23:59:59Z"], "2026-06-03T00:00:00Z"),
            (
                "daily", "2026-06-02T00:00:00Z", "2031-06-02T12:00:00Z", ["2026-06-02T12:00:00Z", "2026-06-02T12:04:30Z"],
                "2026-06-02T12:05:00Z"
            ),
            (
                "daily", "2031-06-02T12:00:00Z", "2031-06-02T12:05:00Z", ["2026-06-02T12:00:00Z", "2026-06-02T12:04:30Z"],
                "2026-06-02T12:05:00Z"
            ),
        ] as [(String, String, String?, [String], String)])
    func `what is due does not move along with the clock`(
        schedule: String, handledAt: String, retryAt: String?, looks: [String], due: String
    ) throws {
        let parsed = try Schedule(parsing: schedule)
        var state = ScheduleState(schedule: schedule, handledAt: try #require(ISO8601.parse(handledAt)))
        state.retryAt = retryAt.flatMap { ISO8601.parse($0) }
        for look in looks {
            state = state.believed(at: try #require(ISO8601.parse(look)))
            #expect(state.next(of: parsed).map { ISO8601.format($0) } == due, "\(look)")
        }
    }
}
