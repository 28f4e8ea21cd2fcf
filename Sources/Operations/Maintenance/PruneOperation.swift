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
        let lock = try store.lockForOperation()
        defer { withExtendedLifetime(lock) {} }
        return try runLocked(maxUnused: maxUnused, progress: progress)
    }

    /// For whoever holds the operation lock.
    func runLocked(maxUnused: UnusedLimit, progress: ProgressHandler?) throws(BackupError) -> PruneSummary {
        try store.monitor.run("prune", phase: "Pruning...", progress) { (report) throws(BackupError) in
            try RepositoryPrune(store.repository, maxUnused: maxUnused, progress: report).run()
        }
    }
}
