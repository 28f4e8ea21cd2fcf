import Glibc
import TestSupport

/// A restore that is killed, and whose recovery is then disturbed at its first call, at its second, and so on until it comes to
/// its end.
final class RecoveryTrial {
    private let scenario: Scenario
    private let expected: Expectation
    private let world: World
    private let crash: PlannedFault
    /// More than any recovery makes.
    private static let callLimit = 10_000
    let complaints = Complaints()
    /// How many recoveries were disturbed.
    private(set) var disturbedCount = 0

    init(_ scenario: Scenario, after crash: PlannedFault) throws {
        self.scenario = scenario
        self.crash = crash
        expected = try Expectation.of(scenario)
        world = try World(copying: expected.template.world)
    }

    /// - Returns: `nil` when the crash left nothing to recover.
    func run(_ fault: Fault) throws -> Trial.Outcome? {
        let result = try disturbed(scenario.arguments(world), crash)
        guard world.exists("restore.journal") else { return nil }
        var number = 1
        // The number grows with each try: one that starts over and always dies at the same call would never end.
        while true {
            remove(world.logPath)
            _ = try disturbed(["status"], PlannedFault(fault: fault, number: number))
            if RecordedCall.read(world.logPath).isEmpty { break }
            disturbedCount += 1
            number += 1
            guard number < Self.callLimit else { throw Machine.Unusable("\(self): a recovery that never comes to its end") }
        }
        return try Aftermath(world: world, scenario: scenario, expected: expected, complaints: complaints)
            .check(result, .kill, wasBegun: true)
    }

    private func disturbed(_ arguments: [String], _ plan: PlannedFault) throws -> Job.Result {
        try world.backupfs(arguments, FaultLayer.environment(folder: world.path, logPath: world.logPath, plan: plan))
    }
}

extension RecoveryTrial: CustomStringConvertible {
    var description: String { "\(scenario.name), \(crash)" }
}
