import Glibc
import TestSupport
import Testing

/// Every call of a restore that changes a file, SQLite's own included, goes wrong in every way it can: the process dies before it
/// or in the middle of it, there is no space, or the disk fails, once or from then on. Then the store is opened again, and the
/// data is exactly the old or exactly the new.
@Suite(.tallied)
struct CrashMatrixTests {
    /// After so many complaints the others would say the same.
    private static let complaintLimit = 5

    @Test(arguments: Scenario.archives, Fault.allCases)
    func `RST-19, SAF-09: a restore with media`(scenario: Scenario, fault: Fault) throws {
        try tryAll(scenario, fault, isImportant: true)
    }

    @Test(arguments: Selection.current.chooseScenarios(Scenario.others), Fault.allCases)
    func `other restores`(scenario: Scenario, fault: Fault) throws { try tryAll(scenario, fault) }

    @Test(arguments: Selection.current.chooseScenarios(Scenario.previews), Fault.allCases)
    func `a preview changes nothing`(scenario: Scenario, fault: Fault) throws { try tryAll(scenario, fault) }

    private func tryAll(_ scenario: Scenario, _ fault: Fault, isImportant: Bool = false) throws {
        guard Selection.current.wants(scenario, fault) else { return }
        let plans = PlannedFault.all(fault, of: try Expectation.of(scenario).calls)
        #expect(fault != .kill || !plans.isEmpty, "no call that could be killed was recorded")
        var counts = Tally.Counts()
        var complaints = 0
        for plan in Selection.current.choose(plans, isImportant: isImportant) {
            let trial = try Trial(scenario, plan)
            let isThorough = counts.runs % Selection.current.strideOfThorough == 0
            let outcome = try trial.run(isThorough: isThorough)
            for text in trial.complaints.texts { Issue.record("\(trial): \(text)") }
            complaints += trial.complaints.texts.isEmpty ? 0 : 1
            if complaints == Self.complaintLimit { break }
            if outcome == .notReached {
                counts.missed += 1
                continue
            }
            counts.runs += 1
            if outcome == .new { counts.new += 1 } else { counts.old += 1 }
        }
        Tally.shared.add(counts, "\(scenario.name): \(fault.rawValue), \(plans.count) points")
    }
}
