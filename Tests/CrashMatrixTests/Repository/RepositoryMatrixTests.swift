import TestSupport
import Testing

/// Every call of a repair, a removal and a prune that changes a file goes wrong in every way it can. No backup that was whole is
/// lost or hurt, what was removed can be brought back, and the operation can be done again.
@Suite(.tallied, .rotating(oneIn: 3))
struct RepositoryMatrixTests {
    @Test(arguments: Selection.current.chooseScenarios(RepositoryScenario.repairs), Fault.allCases)
    func `check --repair`(scenario: RepositoryScenario, fault: Fault) throws { try tryAll(scenario, fault) }

    @Test(arguments: Selection.current.chooseScenarios(RepositoryScenario.removals), Fault.allCases)
    func `backups and their space go`(scenario: RepositoryScenario, fault: Fault) throws { try tryAll(scenario, fault) }

    private func tryAll(_ scenario: RepositoryScenario, _ fault: Fault) throws {
        guard Selection.current.wants(scenario.name, fault) else { return }
        let plans = PlannedFault.all(fault, of: try RepositoryExpectation.of(scenario).calls)
        let chosen = Selection.current.chooseFew(plans, of: scenario.name + fault.rawValue)
        try Tally.shared.tryAll(chosen, "\(scenario.name): \(fault.rawValue), \(plans.count) points") { plan in
            let trial = try RepositoryTrial(scenario, plan)
            return try trial.run() ? trial.complaints.texts.map { "\(trial): \($0)" } : nil
        }
    }
}
