import TestSupport
import Testing

/// What the commands report about a repository that was copied in part or has lost a record, and that they delete nothing in it.
struct PartialCopyCommandTests {
    private func makeSandbox() throws -> Sandbox { try .withThreeBackups(Self.at(1)) }

    private static func at(_ day: Int) -> [String: String] { ["BACKUPFS_NOW": "2026-01-\(day + 10)T10:00:00Z"] }

    /// - Returns: the path of a backup's record.
    private func record(of name: String, in sandbox: Sandbox) throws -> String {
        let id = try sandbox.sh("backupfs snapshots --json --store $S | jq -r '.[] | select(.name == \"\(name)\").id'")
        return "\(sandbox.storePath)/repository/snapshots/\(id).snapshot"
    }

    private func packs(_ sandbox: Sandbox) throws -> String { try sandbox.sh("find $S/repository/packs -name '*.pack' | sort") }

    @Test func `prune refuses while a record is missing, and says what to do`() throws {
        let sandbox = try makeSandbox()
        let record = try record(of: "b", in: sandbox)
        let before = try packs(sandbox)
        try sandbox.sh("mv \(record) $R/record")
        for command in ["prune --max-unused 0", "prune --now --max-unused 0", "prune --empty --max-unused 0", "prune --dry-run"] {
            let refused = try sandbox.run("backupfs \(command) --store $S")
            #expect(
                refused.exitCode == 1
                    && refused.errors.contains("\(record): nothing was pruned: the record of 1 backup is missing"),
                "\(command): \(refused.errors)")
            #expect(refused.errors.contains("backupfs prune --forget-missing"), "\(refused.errors)")
        }
        let repair = try sandbox.run("backupfs check --repair --yes --store $S")
        #expect(repair.exitCode == 1 && repair.output.contains(record), "\(repair.output)")
        #expect(try packs(sandbox) == before)
        try sandbox.sh("mv $R/record \(record); backupfs check --read-data --store $S; mv \(record) $R/record")
        try sandbox.sh("backupfs prune --forget-missing --max-unused 0 --store $S; backupfs check --read-data --store $S")
        #expect(try packs(sandbox) != before)
        try sandbox.sh("backupfs prune --max-unused 0 --store $S")
    }

    @Test func `delete --now deletes what it names, and takes no data of what is missing`() throws {
        let sandbox = try makeSandbox()
        let record = try record(of: "b", in: sandbox)
        let before = try packs(sandbox)
        try sandbox.sh("mv \(record) $R/record")
        let one = try sandbox.run("backupfs delete a --now --yes --store $S")
        #expect(one.exitCode == 1 && one.output.contains("Deleted a"), "\(one)")
        #expect(one.errors.contains("the record of 1 backup is missing"), "\(one.errors)")
        let all = try sandbox.run("backupfs delete --all --now --yes --store $S")
        #expect(all.exitCode == 1 && all.output.contains("All backups deleted."), "\(all)")
        #expect(try packs(sandbox) == before)
        try sandbox.sh("mv $R/record \(record); backupfs check --read-data --store $S")
    }

    @Test func `an automatic backup is made, and warns that the prune after it was refused`() throws {
        let sandbox = try makeSandbox()
        try sandbox.sh(
            """
            backupfs config set schedule daily --store $S; backupfs config set skip-unchanged no --store $S
            backupfs delete a --yes --store $S; backupfs backup --if-due --store $S
            """, Self.at(2))
        let record = try record(of: "b", in: sandbox)
        try sandbox.sh("mv \(record) $R/record")
        let made = try sandbox.run("backupfs backup --if-due --store $S", Self.at(10))
        #expect(made.exitCode == 0, "\(made)")
        #expect((made.output + made.errors).contains("the record of 1 backup is missing"), "\(made)")
        try sandbox.sh(
            "mv $R/record \(record); backupfs undelete a --store $S; backupfs check --read-data --store $S", Self.at(10))
    }
}
