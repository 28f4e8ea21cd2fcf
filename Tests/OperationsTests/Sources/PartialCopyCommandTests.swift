import TestSupport
import Testing

/// What the commands report about a repository that was copied in part or has lost a record, and that they delete nothing in it.
struct PartialCopyCommandTests {
    private func makeRoom() throws -> Room { try .withThreeBackups(Self.at(1)) }

    private static func at(_ day: Int) -> [String: String] { ["BACKUPFS_NOW": "2026-01-\(day + 10)T10:00:00Z"] }

    /// - Returns: the path of a backup's record.
    private func record(of name: String, in room: Room) throws -> String {
        let id = try room.sh("backupfs snapshots --json --store $S | jq -r '.[] | select(.name == \"\(name)\").id'")
        return "\(room.storePath)/repository/snapshots/\(id).snapshot"
    }

    private func packs(_ room: Room) throws -> String { try room.sh("find $S/repository/packs -name '*.pack' | sort") }

    @Test func `prune refuses while a record is missing, and says what to do`() throws {
        let room = try makeRoom()
        let record = try record(of: "b", in: room)
        let before = try packs(room)
        try room.sh("mv \(record) $R/record")
        for command in ["prune --max-unused 0", "prune --now --max-unused 0", "prune --empty --max-unused 0", "prune --dry-run"] {
            let refused = try room.run("backupfs \(command) --store $S")
            #expect(
                refused.status == 1
                    && refused.complaint.contains("\(record): nothing was pruned: the record of 1 backup is missing"),
                "\(command): \(refused.complaint)")
            #expect(refused.complaint.contains("backupfs prune --forget-missing"), "\(refused.complaint)")
        }
        let repair = try room.run("backupfs check --repair --yes --store $S")
        #expect(repair.status == 1 && repair.output.contains(record), "\(repair.output)")
        #expect(try packs(room) == before)
        try room.sh("mv $R/record \(record); backupfs check --read-data --store $S; mv \(record) $R/record")
        try room.sh("backupfs prune --forget-missing --max-unused 0 --store $S; backupfs check --read-data --store $S")
        #expect(try packs(room) != before)
        try room.sh("backupfs prune --max-unused 0 --store $S")
    }

    @Test func `delete --now deletes what it names, and takes no data of what is missing`() throws {
        let room = try makeRoom()
        let record = try record(of: "b", in: room)
        let before = try packs(room)
        try room.sh("mv \(record) $R/record")
        let one = try room.run("backupfs delete a --now --yes --store $S")
        #expect(one.status == 1 && one.output.contains("Deleted a"), "\(one)")
        #expect(one.complaint.contains("the record of 1 backup is missing"), "\(one.complaint)")
        let all = try room.run("backupfs delete --all --now --yes --store $S")
        #expect(all.status == 1 && all.output.contains("All backups deleted."), "\(all)")
        #expect(try packs(room) == before)
        try room.sh("mv $R/record \(record); backupfs check --read-data --store $S")
    }

    @Test func `an automatic backup is made, and warns that the prune after it was refused`() throws {
        let room = try makeRoom()
        try room.sh(
            """
            backupfs config set schedule daily --store $S; backupfs config set skip-unchanged no --store $S
            backupfs delete a --yes --store $S; backupfs backup --if-due --store $S
            """, Self.at(2))
        let record = try record(of: "b", in: room)
        try room.sh("mv \(record) $R/record")
        let made = try room.run("backupfs backup --if-due --store $S", Self.at(10))
        #expect(made.status == 0, "\(made)")
        #expect((made.output + made.complaint).contains("the record of 1 backup is missing"), "\(made)")
        try room.sh("mv $R/record \(record); backupfs undelete a --store $S; backupfs check --read-data --store $S", Self.at(10))
    }
}
