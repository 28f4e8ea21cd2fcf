import TestSupport
import Testing

/// The recovery after a crash fails itself, several times: the next open of the store finds the old data or the new.
@Suite(.tallied, .rotating(oneIn: 3))
struct RecoveryMatrixTests {
    @Test(arguments: Selection.current.chooseScenarios(Scenario.archives + [Scenario.whole]), Fault.allCases)
    func `a recovery that is disturbed at each of its calls, again and again`(scenario: Scenario, fault: Fault) throws {
        guard Selection.current.wants(scenario, fault, of: "recovery of") else { return }
        let calls = try Expectation.of(scenario).calls
        var counts = Tally.Counts()
        var crashCount = 0
        for crash in Selection.current.crashes(calls) {
            let trial = try RecoveryTrial(scenario, after: crash)
            guard let outcome = try trial.run(fault) else {
                counts.missed += 1
                continue
            }
            for text in trial.complaints.texts { Issue.record("\(trial), then \(fault.rawValue) at each call: \(text)") }
            crashCount += 1
            counts.runs += trial.disturbedCount
            if outcome == .new { counts.new += trial.disturbedCount } else { counts.old += trial.disturbedCount }
        }
        Tally.shared.add(counts, "recovery of \(scenario.name): \(fault.rawValue), after \(crashCount) crashes")
    }
}
