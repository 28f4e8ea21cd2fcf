import Synchronization
import TestSupport

/// What a scenario does when nothing goes wrong: the two states that there may be, and the calls that can go wrong.
struct Expectation {
    let template: Template
    let new: String
    let calls: [RecordedCall]
    /// Everything that lies in the store before, for who must not change anything.
    let files: [String: [UInt8]]

    var old: String { template.old }

    private static let known = Mutex<[String: Expectation]>([:])

    /// Made once for each scenario.
    static func of(_ scenario: Scenario) throws -> Expectation {
        if let found = known.withLock({ $0[scenario.name] }) { return found }
        let made = try Expectation(scenario)
        known.withLock { $0[scenario.name] = made }
        return made
    }

    private init(_ scenario: Scenario) throws {
        template = try Template.of(scenario.template)
        let world = try World(copying: template.world)
        files = try StoredFiles.read(world)
        let app = scenario.app != .isClosed ? try AppConnection(world) : nil
        try world.backupfs(
            scenario.arguments(world), FaultLayer.environment(folder: world.path, logPath: world.logPath)
        ).requireSuccess()
        app?.kill()
        calls = RecordedCall.read(world.logPath)
        new = try scenario.state(world)
        guard scenario.isPreview == (new == template.old), world.leftovers() == [], calls.count > 50 else {
            throw Machine.Unusable("\(scenario.name) in peace: \(calls.count) calls, left \(world.leftovers()), \(new)")
        }
    }
}
