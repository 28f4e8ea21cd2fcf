import BackupCore
import BackupRepository

/// Looks for damage in the store's backups, and puts right what can be.
public struct CheckOperation {
    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - readData: of which packs every byte is read; `nil` for none.
    ///   - report: told of everything that is found.
    public func run(
        readData: DataSubset?, progress: ProgressHandler?, report: @escaping (CheckEvent) -> Void
    ) throws(BackupError) -> CheckSummary {
        var check = RepositoryCheck(store.repository, readData: readData, progress: progress, report: report)
        return try check.run()
    }

    /// Reads everything, repairs, and checks again.
    /// - Returns: how it stands afterwards.
    public func repair(progress: ProgressHandler?, report: @escaping (CheckEvent) -> Void) throws(BackupError) -> CheckSummary {
        let lock = try store.lockForOperation()
        defer { withExtendedLifetime(lock) {} }
        try store.monitor.run("repair", phase: "Repairing...", progress) { (progress) throws(BackupError) in
            try RepositoryRepair(store.repository, progress: progress, report: report).run()
        }
        return try run(readData: .all, progress: progress, report: report)
    }
}
