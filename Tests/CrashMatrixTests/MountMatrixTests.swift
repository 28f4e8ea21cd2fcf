import TestSupport
import Testing

/// The same through the mount, with the process that serves it.
@Suite(
    .tallied, .enabled(if: !Machine.skipsMountedTests, "MOUNTED TESTS ARE SKIPPED: BACKUPFS_SKIP_MOUNTED_TESTS=1"),
    .rotating(oneIn: 3))
struct MountMatrixTests {
    @Test(.enabled(if: Machine.isRoot, "only root can unmount by itself"), arguments: [Scenario.archives[1]], Fault.allCases)
    func `a file copied into the mounted store`(scenario: Scenario, fault: Fault) throws {
        guard Selection.current.wants(scenario, fault, of: "mount of") else { return }
        try Machine.requireFUSE()
        let plans = PlannedFault.all(fault, of: try MountTrial.calls(scenario))
        #expect(fault != .kill || !plans.isEmpty, "no call that could be killed was recorded")
        var counts = Tally.Counts()
        for plan in Selection.current.choose(plans) {
            let trial = try MountTrial(scenario, plan)
            let outcome = try trial.run()
            for text in trial.complaints.texts { Issue.record("\(trial): \(text)") }
            if outcome == .notReached {
                counts.missed += 1
                continue
            }
            counts.runs += 1
            if outcome == .new { counts.new += 1 } else { counts.old += 1 }
        }
        Tally.shared.add(counts, "mount of \(scenario.name): \(fault.rawValue), \(plans.count) points")
    }
}
