import BackupCore
import Foundation
import TestSupport
import Testing

@testable import Operations

/// Retention on a machine whose clock is sometimes wrong: backups of the wrong clock do not displace those of the right one.
struct RetentionClockTests {
    private func names(_ sandbox: Sandbox) throws -> String {
        try sandbox.sh("backupfs snapshots --json --store $S | jq -r '[.[].name] | sort | join(\" \")'")
    }

    @Test func `a clock that goes back and forth does not use up the months`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            export BACKUPFS_NOW=2026-01-01T10:00:00Z
            backupfs init --store $S --sample
            backupfs config set keep-monthly 6 --store $S; backupfs config set keep-daily 4 --store $S
            for month in 01 02 03 04 05 06; do BACKUPFS_NOW=2026-$month-15T10:00:00Z backupfs backup --store $S; done
            for day in 16 17 18; do
              BACKUPFS_NOW=2020-01-01T00:03:00Z backupfs backup --store $S
              BACKUPFS_NOW=2026-06-${day}T10:00:00Z backupfs backup --store $S
            done
            for day in 19 20; do BACKUPFS_NOW=2026-06-${day}T10:00:00Z backupfs backup --store $S; done
            """)
        let months = (1...5).map { "2026-0\($0)-15_10-00-00" }.joined(separator: " ")
        let days = (17...20).map { "2026-06-\($0)_10-00-00" }.joined(separator: " ")
        // The oldest and the newest of 2020 are kept as well: they form a separate line.
        #expect(try names(sandbox) == "2020-01-01_00-03-00 2020-01-01_00-03-00_3 \(months) \(days)")
        // Neither does a rule on the command line, by either clock.
        for now in ["2026-06-20T12:00:00Z", "2020-01-01T00:04:00Z"] {
            let kept = try sandbox.sh(
                "backupfs forget --keep-monthly 6 --dry-run --json --store $S | jq -r '[.keep[].name] | sort | join(\" \")'",
                ["BACKUPFS_NOW": now])
            #expect(kept == "2020-01-01_00-03-00 2020-01-01_00-03-00_3 \(months) 2026-06-20_10-00-00", "\(now)")
        }
        // A backup of the wrong clock is as old as the one before it.
        let within = try sandbox.sh(
            "backupfs forget --keep-within 4d --dry-run --json --store $S | jq -r '[.keep[].name] | sort | join(\" \")'",
            ["BACKUPFS_NOW": "2026-06-20T12:00:00Z"])
        #expect(within == "2020-01-01_00-03-00_3 \(days)")
    }

    /// The backups by the right clock that a rule keeps if there are no others, computed from its definition: the newest backup
    /// of each of the newest periods up to the limit, and the oldest of all while the limit is not reached.
    private func kept(_ times: [Timestamp], _ count: Int, _ period: (DateComponents) -> [Int?]) -> Set<Int> {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .current
        let parts: Set<Calendar.Component> = [.year, .month, .day, .hour, .weekOfYear, .yearForWeekOfYear]
        let keys = times.map { period(calendar.dateComponents(parts, from: Date(timeIntervalSince1970: Double($0.seconds)))) }
        let newest = times.indices.filter { index in !keys[(index + 1)...].contains(keys[index]) }
        let oldest: [Int] = newest.count < count && !times.isEmpty ? [0] : []
        return Set(newest.suffix(count) + oldest)
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `wrong clocks change nothing of what is kept of the right one`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let begin: Int64 = 1_767_225_600
        var right = begin
        var times: [(time: Timestamp, isRight: Bool)] = []
        for _ in 0..<Int.random(in: 5...120, using: &generator) {
            right += Int64.random(in: 600...(6 * 86_400), using: &generator)
            times.append((Timestamp(seconds: right), true))
            for _ in 0..<Int.random(in: -3...3, using: &generator).magnitude / 2 {
                // A clock without a battery, or one that is years ahead.
                let behind = Int64.random(in: 0...(4 * 365 * 86_400), using: &generator) + 1_577_836_800
                let ahead = Int64.random(in: 0...(20 * 365 * 86_400), using: &generator) + 4_000_000_000
                times.append((Timestamp(seconds: Bool.random(using: &generator) ? behind : ahead), false))
            }
        }
        let now = Timestamp(seconds: right + 3600)
        let believable = ClockLines.believableTimes(times.map(\.time), now: now)
        let candidates = times.indices.map {
            RetentionCandidate(
                name: "x", creationTime: times[$0].time, tags: [], isPinned: false, sequence: UInt64($0) + 1,
                countedTime: believable[$0])
        }
        let rightOnes = times.indices.filter { times[$0].isRight }
        func decided(_ change: (inout RetentionPolicy) throws -> Void) rethrows -> Set<Int> {
            var policy = RetentionPolicy()
            try change(&policy)
            let decisions = policy.decide(candidates, now: now)
            return Set(rightOnes.indices.filter { decisions[rightOnes[$0]].isKept })
        }
        func expected(_ count: Int, _ period: (DateComponents) -> [Int?]) -> Set<Int> {
            // Any rule keeps the newest of all.
            let kept = kept(rightOnes.map { times[$0].time }, count, period)
            return times.last?.isRight == true ? kept.union([rightOnes.count - 1]) : kept
        }
        let count = Int.random(in: 1...12, using: &generator)
        #expect(decided { $0.hourly = .count(count) } == expected(count) { [$0.year, $0.month, $0.day, $0.hour] })
        #expect(decided { $0.daily = .count(count) } == expected(count) { [$0.year, $0.month, $0.day] })
        #expect(decided { $0.weekly = .count(count) } == expected(count) { [$0.yearForWeekOfYear, $0.weekOfYear] })
        #expect(decided { $0.monthly = .count(count) } == expected(count) { [$0.year, $0.month] })
        #expect(decided { $0.yearly = .count(count) } == expected(count) { [$0.year] })
        let newest = rightOnes.count - 1
        let within = try decided { $0.within = try RetentionPeriod(parsing: "240h") }
        #expect(
            within
                == Set(
                    rightOnes.indices.filter {
                        times[rightOnes[$0]].time.seconds > times[rightOnes[newest]].time.seconds - 240 * 3600
                    }))
    }
}
