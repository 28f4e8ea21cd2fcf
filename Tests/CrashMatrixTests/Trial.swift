import Glibc
import TestSupport

/// One run of a scenario with a fault, the restart after it, and what must be true then.
final class Trial {
    enum Outcome {
        case old
        case new
        /// The fault was not met: the run has fewer calls.
        case notReached
    }

    let scenario: Scenario
    let expected: Expectation
    let plan: PlannedFault
    let world: World
    let complaints = Complaints()
    /// The call that the fault hit.
    private(set) var place = "nowhere"

    init(_ scenario: Scenario, _ plan: PlannedFault) throws {
        self.scenario = scenario
        self.plan = plan
        expected = try Expectation.of(scenario)
        world = try World(copying: expected.template.world)
    }

    /// - Parameter isThorough: whether backups are read whole and everything is tried again, which takes as long as the run
    ///   itself.
    func run(isThorough: Bool) throws -> Outcome {
        let app = scenario.app != .isClosed ? try AppConnection(world) : nil
        defer { app?.kill() }
        let layer = try FaultLayer.environment(folder: world.path, logPath: world.logPath, plan: plan)
        let result = try world.backupfs(scenario.arguments(world), layer)
        guard let hit = RecordedCall.read(world.logPath).first else {
            complaints.expect(result.exitCode == 0, "failed without a fault: \(result.text)")
            return .notReached
        }
        if plan.fault.kills { complaints.expect(result.exitCode == 128 + SIGKILL, "was not killed: \(result.exitCode)") }
        let wasBegun = world.exists("restore.journal")
        if scenario.app == .dies { app?.kill() }
        place = "\(hit.name) \(hit.path)"
        let outcome = try Aftermath(world: world, scenario: scenario, expected: expected, complaints: complaints).check(
            result, plan.fault, wasBegun: wasBegun)
        if let app { try checkAfterwards(app) }
        if isThorough { try tryAgain(outcome) }
        return outcome
    }

    /// After the app has died, the next program that opens the database recovers its log, and must find what the app saw.
    private func checkAfterwards(_ app: AppConnection) throws {
        let before = try scenario.state(world)
        app.kill()
        try world.backupfs(["status"]).requireSuccess()
        let after = try scenario.state(world)
        complaints.expect(after == before, "after the app has died there is something else: \(after)\nbefore: \(before)")
    }

    /// The backups are whole, the safety backup holds the old data, and a second restore succeeds.
    private func tryAgain(_ outcome: Outcome) throws {
        let sound = try world.backupfs(["check", "--read-data"])
        complaints.expect(sound.exitCode == 0, "the backups are hurt: \(sound.text)")
        if outcome == .new, let name = world.report?.safetyName {
            let target = try world.folder("safety")
            let written = try world.backupfs(["restore", name, "--target", target])
            complaints.expect(written.exitCode == 0, "the safety backup cannot be had: \(written.text)")
            let media = Template.mediaPath(scenario.template, world).map { _ in "\(target)/media" }
            let saved = try AppState.describe(database: "\(target)/database.sqlite", media: media)
            complaints.expect(saved == expected.old, "the safety backup has not the old data: \(saved)")
        }
        let again = try world.backupfs(scenario.arguments(world))
        complaints.expect(again.exitCode == 0, "the second try failed: \(again.text)")
        let state = try scenario.state(world)
        complaints.expect(state == expected.new, "the second try made something else: \(state)")
        let left = world.leftovers() + world.repositoryLeftovers()
        complaints.expect(left == [], "the second try left \(left)")
    }
}

extension Trial: CustomStringConvertible {
    var description: String { "\(scenario.name), \(plan), \(place)" }
}
