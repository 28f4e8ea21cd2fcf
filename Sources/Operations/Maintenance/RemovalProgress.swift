import BackupCore
import BackupRepository
import SystemIO

/// The backups of a plan that are removed so far, with their progress reports and log lines.
struct RemovalProgress {
    private(set) var removed: [Snapshot] = []
    private let planned: [SnapshotID: Snapshot]
    private let rule: String
    private let store: Store

    init(_ plan: ForgetOperation.Plan, _ store: Store) {
        planned = Dictionary((plan.removed + plan.givenUp).map { ($0.id, $0) }) { first, _ in first }
        rule = plan.rule
        self.store = store
    }

    func willRemove(_ report: ProgressHandler) throws(BackupError) {
        try Cancellation.check()
        report(
            OperationProgress(
                phase: "Removing backups...", processedItems: UInt64(removed.count), totalItems: UInt64(planned.count)))
    }

    mutating func didRemove(_ id: SnapshotID) throws(BackupError) {
        if let snapshot = planned[id] {
            removed.append(snapshot)
            store.log.note(RemovalEvent(snapshot: snapshot.name.description, rule: rule))
        }
        try FaultInjection.reached("forget.removed")
    }
}
