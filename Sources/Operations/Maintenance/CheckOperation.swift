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
        try store.recorded(.check) { (facts) throws(BackupError) in
            try run(readData, progress, report, lostLabelCount: 0, &facts)
        }
    }

    private func run(
        _ readData: DataSubset?, _ progress: ProgressHandler?, _ report: @escaping (CheckEvent) -> Void,
        lostLabelCount: Int, _ facts: inout OperationFacts
    ) throws(BackupError) -> CheckSummary {
        var check = RepositoryCheck(store.repository, readData: readData, progress: progress, report: report)
        var summary = try check.run()
        summary.findingCount += lostLabelCount
        if readData != nil { facts.sizeBytes = summary.readByteCount }
        if !summary.isSound {
            facts.result = .failed
            facts.error = summary.isDamaged ? .repositoryDamaged : .unsupportedVersion
            facts.fileKind = .repository
        }
        return summary
    }

    /// Reads everything, repairs, and checks again.
    /// - Returns: how it stands afterwards; labels that were lost count as findings.
    public func repair(progress: ProgressHandler?, report: @escaping (CheckEvent) -> Void) throws(BackupError) -> CheckSummary {
        try store.recorded(.repair) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            let lostLabelCount = try store.monitor.run("repair", phase: "Repairing...", progress) {
                (progress) throws(BackupError) in
                try RepositoryRepair(store.repository, progress: progress, report: report).run()
            }
            return try run(.all, progress, report, lostLabelCount: lostLabelCount, &facts)
        }
    }
}
