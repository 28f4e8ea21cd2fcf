import TestSupport
import Testing

/// A prune goes wrong at each of its calls beside the backup of another host, and one of both is suspended at each: every backup
/// is whole afterwards.
@Suite(.tallied, .enabled(if: Machine.isRoot, "NOT TESTED: another host needs root to have a boot ID of its own"))
struct HostMatrixTests {
    @Test(arguments: Selection.current.chooseScenarios(HostTrial.Turn.allCases)) func `two hosts with one repository`(
        turn: HostTrial.Turn
    ) throws {
        for fault in turn.faults where Selection.current.wants(turn.rawValue, fault) {
            let plans = PlannedFault.all(fault, of: try turn.calls)
            var chosen = Selection.current.chooseFew(plans, of: turn.rawValue + fault.rawValue)
            if Selection.current.isDefault {
                if turn == .asleep {
                    chosen += Self.around("rename repository/tmp/*.pack", "unlink repository/tmp/*.pack", plans)
                }
                if turn == .backupAsleep { chosen += Self.around("rename repository/snapshots/*.snapshot", nil, plans) }
            }
            try Tally.shared.tryAll(chosen, "\(turn.rawValue): \(fault.rawValue), \(plans.count) points") { plan in
                let trial = try HostTrial(turn, plan)
                return try trial.run() ? trial.complaints.texts.map { "\(trial): \($0)" } : nil
            }
        }
    }

    /// Where sleep does most harm: between the question whether the lock is still held and what must not be done without it. The
    /// calls, and those just before them.
    private static func around(_ first: String, _ second: String?, _ plans: [PlannedFault]) -> [PlannedFault] {
        var chosen: [PlannedFault] = []
        for call in [first, second] {
            guard let index = plans.firstIndex(where: { $0.call == call }), index > 0 else { continue }
            chosen += [plans[index - 1], plans[index]]
        }
        return chosen
    }
}
