import AppData
import BackupCore
import Foundation
import TestSupport
import Testing

@testable import Operations

/// What `forget` keeps, compared with tables that restic 0.14 printed for snapshots of the same times, and with the app's own
/// rule.
@Suite struct ForgetTests {
    private static let times = [
        "2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "2024-02-29T12:00:00Z", "2024-12-29T20:00:00Z", "2024-12-30T08:00:00Z",
        "2025-01-01T00:30:00Z", "2025-01-31T10:00:00Z", "2025-02-28T10:00:00Z", "2025-03-01T09:00:00Z", "2025-03-30T01:30:00Z",
        "2025-03-30T03:15:00Z", "2025-03-31T10:00:00Z", "2025-03-31T10:20:00Z", "2025-03-31T18:45:00Z",
    ]

    /// Backups 1 to 14; every third is tagged `third`, every sixth also `sixth`.
    private struct Template {
        let sandbox: Sandbox

        init() throws {
            sandbox = try Sandbox()
            _ = try sandbox.makeDiary()
            for (index, time) in ForgetTests.times.enumerated() {
                try sandbox.sh("backupfs backup --label n\(index + 1) --store $S >/dev/null", ["BACKUPFS_NOW": time])
            }
            try sandbox.sh(
                """
                backupfs tag n3 n6 n9 n12 --add third --store $S >/dev/null; backupfs tag n6 n12 --add sixth --store $S >/dev/null
                """)
            // Nothing opens this one, so that it can be copied while other tests use the first: the files of an open catalog come
            // and go.
            try sandbox.sh("cp -a $S $R/untouched")
        }
    }

    private static let template = Result { try Template() }

    /// `1:daily 14:last+daily`, in the table's form.
    private static func kept(_ sandbox: Sandbox, _ options: String, _ environment: [String: String] = [:]) throws -> String {
        let output = try sandbox.sh("backupfs forget \(options) --dry-run --json --store $S", environment)
        let document = try json(Array(output.utf8))
        let keep = try #require(document["keep"] as? [[String: Any]])
        let remove = try #require(document["remove"] as? [[String: Any]])
        #expect(keep.count + remove.count == 14 && document["removed"] as? Int == 0)
        return keep.map { item in
            let reasons = (item["reasons"] as? [String] ?? []).map {
                $0.replacingOccurrences(of: " snapshot", with: "").replacingOccurrences(of: "oldest ", with: "")
            }
            return "\((item["name"] as? String ?? "").dropFirst()):\(reasons.joined(separator: "+"))"
        }.joined(separator: " ")
    }

    @Test(arguments: [
        ("--keep-last 3", "12:last 13:last 14:last"),
        ("--keep-hourly 2", "13:hourly 14:hourly"),
        (
            "--keep-hourly 100",
            "1:hourly 2:hourly 3:hourly 4:hourly 5:hourly 6:hourly 7:hourly 8:hourly 9:hourly 10:hourly 11:hourly 13:hourly 14:hourly"
        ),
        ("--keep-daily 3", "9:daily 11:daily 14:daily"),
        ("--keep-weekly 4", "7:weekly 9:weekly 11:weekly 14:weekly"),
        (
            "--keep-weekly 100",
            "1:weekly 2:weekly 3:weekly 4:weekly 6:weekly 7:weekly 9:weekly 11:weekly 14:weekly"
        ),
        ("--keep-monthly 4", "5:monthly 7:monthly 8:monthly 14:monthly"),
        ("--keep-yearly 2", "5:yearly 14:yearly"),
        ("--keep-yearly 10", "1:yearly 5:yearly 14:yearly"),
        ("--keep-within 30d", "10:within 30d 11:within 30d 12:within 30d 13:within 30d 14:within 30d"),
        ("--keep-within 1m", "10:within 1m 11:within 1m 12:within 1m 13:within 1m 14:within 1m"),
        ("--keep-within 8h", "14:within 8h"),
        ("--keep-daily 30", "1:daily 2:daily 3:daily 4:daily 5:daily 6:daily 7:daily 8:daily 9:daily 11:daily 14:daily"),
        (
            "--keep-last 2 --keep-daily 2 --keep-weekly 3 --keep-monthly 2 --keep-yearly 3",
            "1:yearly 5:yearly 8:monthly 9:weekly 11:daily+weekly 13:last 14:last+daily+weekly+monthly+yearly"
        ),
        // restic says “has tags [third]”, and would not keep the newest.
        ("--keep-tag third", "3:has tag third 6:has tag third 9:has tag third 12:has tag third 14:newest backup"),
        ("--keep-tag third,sixth --keep-last 1", "6:has tags third, sixth 12:has tags third, sixth 14:last"),
        ("--keep-tag sixth --keep-tag none", "6:has tag sixth 12:has tag sixth 14:newest backup"),
    ])
    func `as restic decides`(options: String, expected: String) throws {
        #expect(try Self.kept(Self.template.get().sandbox, options) == expected)
    }

    /// Days and months follow the local clock.
    @Test func `in local time`() throws {
        let sandbox = try Self.template.get().sandbox
        #expect(
            try Self.kept(sandbox, "--keep-monthly 100", ["TZ": "America/New_York"])
                == "1:monthly 2:monthly 3:monthly 6:monthly 7:monthly 8:monthly 14:monthly")
        #expect(try Self.kept(sandbox, "--keep-daily 2", ["TZ": "Pacific/Kiritimati"]) == "11:daily 14:daily")
    }

    /// The table of requirement RET-05, except that the newest is always kept: of 7 backups aged 1, 2, 31, 32, 3, 4 and 5 days,
    /// five are kept; of three aged 40 days, one is.
    @Test func `RET-05: the app's own rule`() throws {
        let now = Timestamp(seconds: 1_800_000_000)
        func decide(_ ages: [Double], pinned: Set<Double> = [], last: Int? = 5, days: Int? = 30) -> [Double] {
            let candidates = ages.map { age in
                RetentionCandidate(
                    name: "x", creationTime: Timestamp(seconds: now.seconds - Int64(age * 86_400)), tags: [],
                    isPinned: pinned.contains(age))
            }
            let definition = RetentionDefinition(keepLast: last, keepWithinDays: days, safetyKeepLast: 3)
            return zip(ages, definition.decide(candidates, now: now)).filter { $0.1.isKept }.map(\.0)
        }
        #expect(decide([1, 2, 31, 32, 3, 4, 5]) == [1, 2, 3, 4, 5])
        #expect(decide([40, 41, 42]) == [40])
        #expect(decide([1, 2, 3, 4, 5, 6]) == [1, 2, 3, 4, 5])
        // Exactly 30 days is not older than 30 days.
        #expect(decide([1, 30, 30.00002]) == [1, 30])
        #expect(decide([1, 2, 3, 4, 5, 6, 31], pinned: [6, 31]) == [1, 2, 3, 4, 5, 6, 31])
        #expect(decide([1, 50, 60], days: nil) == [1, 50, 60])
        #expect(decide([1, 2, 3, 40], last: nil) == [1, 2, 3])
        #expect(decide([]) == [])
        // A backup from the future is the newest.
        #expect(decide([-1, 1, 2, 3, 4, 5]) == [-1, 1, 2, 3, 4])
    }

    @Test func `removing`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("cp -a '\(Self.template.get().sandbox.path)/untouched' $S")
        func names() throws -> String {
            try sandbox.sh("backupfs snapshots --store $S --json | jq -r '[.[].name] | join(\" \")'")
        }
        // All of them have names, and are not removed unless the settings say otherwise.
        #expect(try sandbox.sh("backupfs forget --dry-run --store $S").hasSuffix("Would remove 0 backups."))
        try sandbox.sh("backupfs config set retention-counts all --store $S")
        // By the definition: the newest five; the diary has no limit of days.
        #expect(try sandbox.sh("backupfs forget --dry-run --store $S").hasSuffix("Would remove 9 backups."))
        #expect(try sandbox.run("backupfs forget --store $S </dev/null").exitCode == 2)
        try sandbox.sh("backupfs pin n2 --store $S >/dev/null; backupfs forget --yes --store $S")
        #expect(try names() == "n2 n10 n11 n12 n13 n14")
        // By name; a pinned one is refused, and with it the whole command.
        let refused = try sandbox.run("backupfs forget n10 n2 --yes --store $S")
        #expect(refused.exitCode == 1 && refused.errors.contains("pinned"))
        #expect(try sandbox.run("backupfs forget n10 nobody --yes --store $S").exitCode == 1)
        #expect(try names() == "n2 n10 n11 n12 n13 n14")
        try sandbox.sh("backupfs forget n10 n11 n10 --yes --store $S")
        #expect(try names() == "n2 n12 n13 n14")
        // Safety backups are not removed unless named.
        try sandbox.sh("backupfs restore n14 --yes --store $S >/dev/null")
        try sandbox.sh("backupfs forget --keep-last 1 --yes --prune --store $S")
        #expect(try names() == "n2 n14")
        #expect(try sandbox.sh("ls $S/repository/snapshots | wc -l") == "3")
        let safety = try sandbox.sh("jq -r .safetyBackup $S/restore/last.json")
        try sandbox.sh("backupfs forget '\(safety)' --yes --store $S; backupfs check --read-data --store $S")
        #expect(try sandbox.sh("ls $S/repository/snapshots | wc -l") == "2")
    }

    @Test(arguments: [
        "--keep-last 0", "--keep-last x", "--keep-daily -3", "--keep-within 3", "--keep-within 3x", "--keep-within 1d1d",
        "--keep-within ''",
        "--keep-tag ''", "n1 --keep-last 3",
    ])
    func `options that say nothing`(options: String) throws {
        #expect(try Self.template.get().sandbox.run("backupfs forget \(options) --yes --store $S").exitCode == 2)
    }
}
