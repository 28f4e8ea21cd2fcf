import BackupCore
import BackupRepository

/// Gives back the room of backups that were removed.
public struct PruneOperation: Sendable {
    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Throws: `busy`; `repositoryDamaged` when it cannot be told what is needed.
    public func run(
        maxUnused: UnusedLimit, isDryRun: Bool, progress: ProgressHandler?
    ) throws(BackupError) -> PruneSummary {
        if isDryRun { return try RepositoryPrune(store.repository, maxUnused: maxUnused, progress: progress).plan() }
        return try store.recorded(.prune) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            return try run(maxUnused, progress, &facts)
        }
    }

    /// After an automatic backup, for whoever holds the operation lock.
    func runAutomatically(maxUnused: UnusedLimit, progress: ProgressHandler?) throws(BackupError) -> PruneSummary {
        try store.recorded(.prune, isAutomatic: true) { (facts) throws(BackupError) in
            try run(maxUnused, progress, &facts)
        }
    }

    private func run(
        _ maxUnused: UnusedLimit, _ progress: ProgressHandler?, _ facts: inout OperationFacts
    ) throws(BackupError) -> PruneSummary {
        let summary = try store.monitor.run("prune", phase: "Pruning...", progress) { (report) throws(BackupError) in
            try RepositoryPrune(store.repository, maxUnused: maxUnused, progress: report).run()
        }
        facts.freedByteCount = summary.freedByteCount
        return summary
    }
}
