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
                let result = left.subtractingSaturated(right)
                #expect((result >= 0) == (exact >= 0) || exact == 0, "\(left) - \(right)")
            }
        }
        #expect(Int64.min.subtractingSaturated(1) == .min)
        #expect(Int64.max.subtractingSaturated(-1) == .max)
        #expect(Int64(5).subtractingSaturated(7) == -2)
    }

    @Test func `a media folder that is empty removes nothing`() throws {
        let room = try Room()
        try room.sh(
            """
            mkdir $R/photos; for i in 1 2 3 4; do head -c 3000 /dev/urandom > $R/photos/$i.jpg; done
            backupfs init --store $S --app photo-library --media $R/photos
            backupfs config set keep-last 2 --store $S
            backupfs backup --store $S; touch $R/photos/5.jpg
            """, ["BACKUPFS_NOW": "2026-01-01T10:00:00Z"])
        try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-02T10:00:00Z"])
        try room.sh("rm $R/photos/*")
        let empty = try room.run("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-03T10:00:00Z"])
        #expect(
            empty.status == 0 && empty.complaint.contains("holds much less than the one before, 2026-01-02_10-00-00"),
            "\(empty.complaint)")
        #expect(try room.sh("backupfs snapshots --json --store $S | jq length") == "3")
        // Later ones go by the rule, but the last that was full stays until a user removes it.
        for day in 4...6 { try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-0\(day)T10:00:00Z"]) }
        #expect(
            try room.sh("backupfs snapshots --json --store $S | jq -r '[.[].name[8:10]] | join(\" \")'") == "02 05 06")
    }

    @Test func `a year of silence does not make a history too old at once`() throws {
        let room = try Room()
        try room.sh("backupfs init --store $S --sample")
        for day in ["01", "08", "15"] {
            try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": "2026-01-\(day)T10:00:00Z"])
        }
        for now in ["2027-01-15T10:00:00Z", "2027-01-16T10:00:00Z"] {
            try room.sh("backupfs backup --store $S", ["BACKUPFS_NOW": now])
        }
        #expect(try room.sh("backupfs snapshots --json --store $S | jq length") == "5")
    }
}
