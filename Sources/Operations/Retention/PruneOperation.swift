import BackupCore
import BackupRepository

/// Frees the space of removed backups that can no longer be brought back.
public struct PruneOperation: Sendable {
    private let store: Store
    private let givesUpRemoved: Bool
    private let allowsEmpty: Bool
    private let forgetsMissing: Bool

    /// - Parameters:
    ///   - givesUpRemoved: whether to give up removed backups that could still be brought back.
    ///   - allowsEmpty: whether everything may be deleted if the repository has no backup at all.
    ///   - forgetsMissing: whether to give up backups whose records are missing.
    public init(store: Store, givesUpRemoved: Bool = false, allowsEmpty: Bool = false, forgetsMissing: Bool = false) {
        self.store = store
        self.givesUpRemoved = givesUpRemoved
        self.allowsEmpty = allowsEmpty
        self.forgetsMissing = forgetsMissing
    }

    private func prune(
        _ maxUnused: UnusedLimit, _ grace: RemovalGrace, _ progress: ProgressHandler?
    ) throws(BackupError) -> RepositoryPrune {
        RepositoryPrune(
            store.repository, maxUnused: maxUnused, grace: grace, allowsEmpty: allowsEmpty,
            forgetsMissing: forgetsMissing, progress: progress)
    }

    /// Other stores' backups keep their grace period whatever is given up here.
    private func grace() throws(BackupError) -> RemovalGrace {
        let grace = try store.removalGraceOfSeenTime(isAutomatic: false)
        guard givesUpRemoved else { return grace }
        // Another store may have taken over the source since the command began.
        try store.requireClaimedSource()
        return grace.over { [store] in store.owns($0) }
    }

    /// - Throws: `busy`; `repositoryDamaged` when it is unknown which data is needed.
    public func run(
        maxUnused: UnusedLimit, isDryRun: Bool, progress: ProgressHandler?
    ) throws(BackupError) -> PruneSummary {
        if isDryRun { return try prune(maxUnused, grace(), progress).plan() }
        return try store.recorded(.prune) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            let remoteLock = try store.lockRemote()
            defer { withExtendedLifetime((lock, remoteLock)) {} }
            return try run(maxUnused, grace(), progress, &facts)
        }
    }

    /// After an automatic backup. The caller holds the operation lock.
    func runAutomatically(maxUnused: UnusedLimit, progress: ProgressHandler?) throws(BackupError) -> PruneSummary {
        try store.recorded(.prune, isAutomatic: true) { (facts) throws(BackupError) in
            try run(maxUnused, store.removalGraceOfSeenTime(isAutomatic: true), progress, &facts)
        }
    }

    private func run(
        _ maxUnused: UnusedLimit, _ grace: RemovalGrace, _ progress: ProgressHandler?, _ facts: inout OperationFacts
    ) throws(BackupError) -> PruneSummary {
        let summary = try store.monitor.run("prune", phase: "Pruning...", progress) { (report) throws(BackupError) in
            try prune(maxUnused, grace, report).run()
        }
        facts.freedByteCount = summary.freedByteCount
        return summary
    }
}
