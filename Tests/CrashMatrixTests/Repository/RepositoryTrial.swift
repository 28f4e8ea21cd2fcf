import Glibc
import TestSupport

/// An operation on the repository with a fault, and what must be true then: backups that were whole are whole, and the operation
/// can be done again.
final class RepositoryTrial {
    private let scenario: RepositoryScenario
    private let plan: PlannedFault
    private let world: World
    let complaints = Complaints()
    /// The call that the fault hit.
    private(set) var place = "nowhere"

    init(_ scenario: RepositoryScenario, _ plan: PlannedFault) throws {
        self.scenario = scenario
        self.plan = plan
        world = try World(copying: try RepositoryExpectation.of(scenario).world)
    }

    /// - Returns: whether the fault was met.
    func run() throws -> Bool {
        let layer = try FaultLayer.environment(folder: world.storePath, logPath: world.logPath, plan: plan)
        let disturbed = try world.backupfs(scenario.arguments, layer)
        guard let hit = RecordedCall.read(world.logPath).first else { return false }
        place = "\(hit.name) \(hit.path)"
        if plan.fault.kills {
            complaints.expect(disturbed.exitCode == 128 + SIGKILL, "was not killed: \(disturbed.exitCode)")
        } else {
            complaints.expect(disturbed.exitCode < 128, "ended with \(disturbed.exitCode): \(disturbed.text)")
        }
        try expectWhole(scenario.kept, "after the fault (\(disturbed.text))")

        let again = try world.backupfs(scenario.arguments)
        complaints.expect(scenario.lastExitCodes.contains(again.exitCode), "the second try: \(again.exitCode), \(again.text)")
        for name in Set(scenario.whole).subtracting(try world.backupNames()).sorted() {
            let back = try world.backupfs(["undelete", name])
            complaints.expect(back.exitCode == 0, "\(name) cannot be brought back: \(back.text)")
        }
        try expectWhole(scenario.whole, "after the second try")
        // What was lost is still in the app: the next backup stores it again.
        let next = try world.backupfs(["backup", "--label", "next"])
        complaints.expect(next.exitCode == 0, "the next backup: \(next.text)")
        if scenario.losesRecord {
            let lost = try world.backupfs(["check"])
            complaints.expect(lost.exitCode == 1 && lost.text.contains("record is missing"), "nothing is missing: \(lost.text)")
            let forgotten = try world.backupfs(["prune", "--forget-missing"])
            complaints.expect(forgotten.exitCode == 0, "prune --forget-missing: \(forgotten.text)")
        }
        let sound = try world.backupfs(["check", "--read-data"])
        complaints.expect(sound.exitCode == 0, "damage is left: \(sound.text)")
        // A note that could not be removed hinders no operation.
        let unlocked = try world.backupfs(["unlock"])
        complaints.expect(unlocked.exitCode == 0, "unlock: \(unlocked.text)")
        let left = world.leftovers() + world.repositoryLeftovers()
        complaints.expect(left == [], "left \(left)")
        return true
    }

    private func expectWhole(_ names: [String], _ moment: String) throws {
        let there = try world.backupNames()
        complaints.expect(there.isSuperset(of: names), "\(moment): only \(there.sorted()) are there")
        for name in names {
            if let flaw = try world.flaw(of: name, reference: "\(world.path)/references/\(name)") {
                complaints.expect(false, "\(moment): \(name) is not what it was: \(flaw)")
            }
        }
    }
}

extension RepositoryTrial: CustomStringConvertible {
    var description: String { "\(scenario.name), \(plan), \(place)" }
}

extension World {
    /// The names of all backups of the store's repository.
    func backupNames() throws -> Set<String> {
        let listing = try backupfs(["snapshots", "--json"]).requireSuccess()
        return Set(listing.matches(of: /"name": "([^"]*)"/).map { String($0.output.1) })
    }

    /// Restores a backup into a folder of its own and compares that with diff(1).
    /// - Parameter reference: a folder that it was restored into when it was made.
    /// - Returns: `nil` when both are the same.
    func flaw(of name: String, reference: String) throws -> String? {
        let target = try folder("restored") + "/\(name)"
        defer { _ = try? run(["rm", "-rf", target]) }
        let written = try backupfs(["restore", name, "--target", target])
        guard written.exitCode == 0 else { return written.text }
        let difference = try run(["diff", "-r", "--no-dereference", reference, target])
        return difference.exitCode == 0 ? nil : difference.text
    }
}
