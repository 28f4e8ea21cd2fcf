import BackupCore
import TestSupport
import Testing

@testable import Operations

/// Retention that a wrong clock, an empty folder or a bad disk cannot turn against the backups.
struct RetentionAgeTests {
    @Test func `differences do not trap`() {
        let ends: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        for left in ends {
            for right in ends {
                let exact = Double(left) - Double(right)
                let result = left.subtractingSaturating(right)
                #expect((result >= 0) == (exact >= 0) || exact == 0, "\(left) - \(right)")
            }
        }
        #expect(Int64.min.subtractingSaturating(1) == .min)
        #expect(Int64.max.subtractingSaturating(-1) == .max)
        #expect(Int64(5).subtractingSaturating(7) == -2)
    }

    @Test func `a clock that is wrong at each start of the machine ages nothing`() throws {
        // Each day a backup dated 2020, until the clock is set, and two at the right time.
        let day: Int64 = 86_400
        let start: Int64 = 1_793_000_000
        var times: [Timestamp] = []
        for number in 0..<40 {
            let now = start + Int64(number) * day
            let boot: Int64 = 1_577_836_800 + Int64(number)
            for seconds in [boot, now, now + 3_600] { times.append(Timestamp(seconds: seconds)) }
        }
        let now = Timestamp(seconds: start + 39 * day + 7_200)
        let ages = RetentionAge.countedTimes(of: times, now: now).map { (now.seconds - $0.seconds) / day }
        for number in 1..<40 {
            let age = Int64(39 - number)
            #expect(ages[3 * number + 1] == age && ages[3 * number + 2] == age, "day \(number): \(ages[3 * number + 1])")
            #expect(ages[3 * number] <= age, "day \(number)")
        }
        #expect(ages.allSatisfy { $0 <= 39 + 7 })
        // The same with a clock that is sometimes ahead.
        var ahead: [Timestamp] = []
        for number in 0..<Int64(40) {
            ahead.append(Timestamp(seconds: start + number * day))
            ahead.append(Timestamp(seconds: start + 5_000 * day + number))
        }
        let others = RetentionAge.countedTimes(of: ahead, now: now).map { (now.seconds - $0.seconds) / day }
        for number in 0..<40 { #expect(others[2 * number] == Int64(39 - number)) }
    }

    /// Histories of a machine whose clock is sometimes wrong, by a different amount each time (D15).
    @Test(arguments: UInt64(1)...8) func `no backup by the right clock counts as too old`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let day = 86_400.0
        for _ in 0..<400 {
            var trueTime = 1_793_000_000.0
            var trueTimes: [Double] = []
            var times: [Timestamp] = []
            let mode = Int.random(in: 0...3, using: &random)
            for _ in 0..<Int.random(in: 5...60, using: &random) {
                trueTime += day * [0.1, 0.5, 1, 1, 1, 2, 3, 9].randomElement(using: &random)!
                var time = trueTime
                if Double.random(in: 0...1, using: &random) < 0.4 {
                    switch mode {
                    case 0: time += day * Double.random(in: 1...31, using: &random)
                    case 1: time += day * Double.random(in: -500...500, using: &random)
                    case 2: time = 1_577_836_800 + Double.random(in: 0...day, using: &random)
                    default: time += 400 * day
                    }
                }
                trueTimes.append(trueTime)
                times.append(Timestamp(seconds: Int64(time)))
            }
            let isRight = zip(times, trueTimes).map { $0.seconds == Int64($1) }
            trueTime += day
            // A clock that has jumped ahead permanently cannot be distinguished from passing time: a week for each jump.
            let jumpCount = Double(isRight.reversed().prefix { !$0 }.count + 1)
            for (ahead, limit) in [(0.0, 1.0), (31 * day, jumpCount * 7 * day + 1), (400 * day, jumpCount * 7 * day + 1)] {
                let now = Timestamp(seconds: Int64(trueTime + ahead))
                let counted = RetentionAge.countedTimes(of: times, now: now)
                for index in times.indices where isRight[index] {
                    let age = Double(now.seconds - counted[index].seconds)
                    #expect(age <= trueTime - trueTimes[index] + limit, "mode \(mode), \(index), ahead by \(ahead)")
                }
            }
        }
    }

    @Test func `the right clock alone counts in full, gaps as a week at most`() {
        let day: Int64 = 86_400
        let days: [Int64] = [0, 1, 3, 3, 10, 40, 41, 41, 44]
        let now = Timestamp(seconds: 1_793_000_000 + 45 * day)
        let counted = RetentionAge.countedTimes(of: days.map { Timestamp(seconds: 1_793_000_000 + $0 * day) }, now: now)
        #expect(counted.map { (now.seconds - $0.seconds) / day } == [22, 21, 19, 19, 12, 5, 4, 4, 1])
        let ends = [Timestamp(seconds: .min), Timestamp(seconds: .max), Timestamp(seconds: 0), Timestamp(seconds: .min)]
        for now in ends { #expect(RetentionAge.countedTimes(of: ends, now: now).count == 4) }
    }

    @Test func `a media folder that is empty removes nothing`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/photos; for i in 1 2 3 4; do head -c 3000 /dev/urandom > $R/photos/$i.jpg; done
            backupfs init --store $S --app photo-library --media $R/photos
            backupfs config set keep-last 2 --store $S
            backupfs backup --store $S; touch $R/photos/5.jpg
            """, ["BACKUPFS_NOW": "2026-01-01T10:00:00Z"])
        try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-02T10:00:00Z"])
        try sandbox.sh("rm $R/photos/*")
        let empty = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-03T10:00:00Z"])
        #expect(
            empty.exitCode == 0 && empty.errors.contains("holds much less than the one before, 2026-01-02_10-00-00"),
            "\(empty.errors)")
        #expect(try days(sandbox) == "01 02 03")
        // Nor do later ones remove any while it is empty: the previous backup is no longer a valid reference.
        for day in 4...6 {
            let later = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"])
            #expect(later.errors.contains("at the backup 2026-01-02_10-00-00 it was not"), "\(later.errors)")
        }
        #expect(try days(sandbox) == "01 02 03 04 05 06")
        // On explicit request a user removes all but the last full one, and that one by name.
        try sandbox.sh("backupfs forget --yes --store $S", ["BACKUPFS_NOW": "2026-01-06T11:00:00Z"])
        #expect(try days(sandbox) == "02 05 06")
        try sandbox.sh("backupfs delete 2026-01-02_10-00-00 --yes --store $S")
        let last = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-07T10:00:00Z"])
        #expect(last.errors == "", "\(last.errors)")
        #expect(try days(sandbox) == "06 07")
    }

    private func days(_ sandbox: Sandbox) throws -> String {
        try sandbox.sh("backupfs snapshots --json --store $S | jq -r '[.[].name[8:10]] | join(\" \")'")
    }

    /// Media that are few among the files of a backup: without them it still has more than half of the files.
    private func makeVideos(_ count: Int, keepLast: Int) throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/media; for i in $(seq \(count)); do head -c 3000 /dev/urandom > $R/media/$i.mp4; done
            backupfs init --store $S --app photo-library --media $R/media
            backupfs config set keep-last \(keepLast) --store $S
            """, ["BACKUPFS_NOW": "2026-01-01T09:00:00Z"])
        return sandbox
    }

    @Test func `a disk that is not mounted for days does not end the backups with media`() throws {
        let sandbox = try makeVideos(3, keepLast: 5)
        for day in 1...3 { try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"]) }
        try sandbox.sh("mv $R/media $R/disk; mkdir $R/media")
        for day in 4...9 {
            let result = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"])
            #expect(result.exitCode == 0 && result.errors.contains("2026-01-03_10-00-00"), "\(result.errors)")
            #expect(result.errors.contains("no old backups were removed: "), "\(result.errors)")
        }
        #expect(try days(sandbox) == "01 02 03 04 05 06 07 08 09")
        // With the disk back, the rule works again.
        try sandbox.sh("rmdir $R/media; mv $R/disk $R/media")
        let whole = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-10T10:00:00Z"])
        #expect(whole.errors == "", "\(whole.errors)")
        #expect(try days(sandbox) == "06 07 08 09 10")
    }

    /// As `init` sets up most apps: users who keep everything must see it as well.
    @Test func `an empty media folder, an empty database and a wrong clock are reported without a rule`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh(
            """
            mkdir $R/media; for i in 1 2 3; do head -c 3000 /dev/urandom > $R/media/$i.jpg; done
            sqlite3 $R/a.db "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);
                WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 500) INSERT INTO t SELECT i, 'row ' || i FROM c"
            backupfs init --store $S --database $R/a.db --media $R/media --repository $R/repository
            """, ["BACKUPFS_NOW": "2026-01-01T09:00:00Z"])
        func backUp(_ day: String) throws -> String {
            let result = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "\(day)T10:00:00Z"])
            #expect(result.exitCode == 0, "\(result.errors)")
            #expect(!result.errors.contains("old backups were removed"), "\(result.errors)")
            let status = try sandbox.sh("backupfs status --check 26h --store $S", ["BACKUPFS_NOW": "\(day)T11:00:00Z"])
            #expect(status.contains("Warning: ") == !result.errors.isEmpty, "\(status)")
            return result.errors
        }
        #expect(try backUp("2026-01-01") == "")
        try sandbox.sh("mv $R/media $R/disk; mkdir $R/media")
        let first = try backUp("2026-01-02")
        #expect(first.contains("holds much less than the one before, 2026-01-01_10-00-00. Is all data there?"), "\(first)")
        let second = try backUp("2026-01-03")
        #expect(second.contains("the media folder is empty, and at the backup 2026-01-01_10-00-00 it was not."), "\(second)")
        try sandbox.sh("rmdir $R/media; mv $R/disk $R/media")
        #expect(try backUp("2026-01-04") == "")
        try sandbox.sh("sqlite3 $R/a.db 'DELETE FROM t'")
        #expect(try backUp("2026-01-05").contains("this backup holds much less than the one before, 2026-01-04_10-00-00"))
        #expect(try backUp("2026-03-05").contains("more than a month ago. Is the clock right?"))
        #expect(try backUp("2026-03-06") == "")
    }

    @Test func `most media deleted on purpose: one full backup stays, and the warning says how to remove it`() throws {
        let sandbox = try makeVideos(6, keepLast: 2)
        for day in 1...2 { try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"]) }
        try sandbox.sh("rm $R/media/[3-6].mp4")
        let first = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-03T10:00:00Z"])
        #expect(first.errors.contains("holds much less than the one before, 2026-01-02_10-00-00"), "\(first.errors)")
        for day in 4...6 {
            let later = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"])
            #expect(later.errors.contains("remove it with: backupfs delete 2026-01-02_10-00-00"), "\(later.errors)")
        }
        #expect(try days(sandbox) == "02 05 06")
        // A rule given on the command line is a rule, too.
        #expect(
            try sandbox.sh("backupfs forget --keep-last 1 --yes --store $S").contains("holds much more than the newest backup"))
        #expect(try days(sandbox) == "02 06")
        try sandbox.sh("backupfs delete 2026-01-02_10-00-00 --yes --store $S")
        let last = try sandbox.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-07T10:00:00Z"])
        #expect(last.errors == "", "\(last.errors)")
    }

    /// A failing disk, or a program that deletes photos: never less than half of the previous day.
    @Test func `media that are lost bit by bit do not end the fullest backup`() throws {
        let sandbox = try makeVideos(20, keepLast: 2)
        for (day, count) in [20, 13, 8, 5, 3, 2].enumerated() {
            try sandbox.sh("cd $R/media; ls | sort -n | tail -n +\(count + 1) | xargs -r rm")
            try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day + 1)T10:00:00Z"])
        }
        // The one that held most, and the newest that held more than twice as much: by all files, and by the media.
        #expect(try days(sandbox) == "01 02 04 05 06")
    }

    @Test func `a year of silence does not make a history too old at once`() throws {
        let sandbox = try Sandbox()
        try sandbox.sh("backupfs init --store $S --sample")
        for day in ["01", "08", "15"] {
            try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-\(day)T10:00:00Z"])
        }
        for now in ["2027-01-15T10:00:00Z", "2027-01-16T10:00:00Z"] {
            try sandbox.sh("backupfs backup --store $S", ["BACKUPFS_NOW": now])
        }
        #expect(try sandbox.sh("backupfs snapshots --json --store $S | jq length") == "5")
    }
}
