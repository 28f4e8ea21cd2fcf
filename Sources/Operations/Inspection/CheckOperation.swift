import BackupCore
import BackupRepository

/// Checks the store's backups for damage, and repairs what is repairable.
public struct CheckOperation {
    private let store: Store

    public init(store: Store) { self.store = store }

    /// - Parameters:
    ///   - readData: the packs to read completely; `nil` for none.
    ///   - report: receives everything that is found.
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
        var details: [Message] = []
        var check = RepositoryCheck(store.repository, readData: readData, progress: progress) { event in
            // The report keeps no more lines.
            if details.count <= OperationFacts.detailLimit { details.append(event.text) }
            report(event)
        }
        var summary = try check.run()
        summary.findingCount += lostLabelCount
        facts.note(details: details + [summary.text])
        if readData != nil { facts.sizeBytes = summary.readByteCount }
        if !summary.isSound {
            facts.result = .failed
            facts.error = summary.isDamaged ? .repositoryDamaged : .unsupportedVersion
            facts.fileKind = .repository
        }
        return summary
    }

    /// Reads everything, repairs it, and checks again.
    /// - Returns: the state afterwards; labels that were lost count as findings.
    public func repair(progress: ProgressHandler?, report: @escaping (CheckEvent) -> Void) throws(BackupError) -> CheckSummary {
        try store.recorded(.repair) { (facts) throws(BackupError) in
            let lock = try store.lockForOperation()
            defer { withExtendedLifetime(lock) {} }
            var details: [Message] = []
            let lostLabelCount = try store.monitor.run("repair", phase: "Repairing...", progress) {
                (progress) throws(BackupError) in
                try RepositoryRepair(store.repository, progress: progress) { event in
                    details.append(event.text)
                    report(event)
                }.run()
            }
            facts.note(details: details)
            return try run(.all, progress, report, lostLabelCount: lostLabelCount, &facts)
        }
    }
}
