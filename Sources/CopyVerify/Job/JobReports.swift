import BackupCore
import Formats
import SystemIO

/// The numbers of a job's rows.
public struct RowCounts: Sendable, Equatable {
    /// Rows of each status.
    public var byStatus: [RowStatus: UInt64] = [:]

    /// Copies that are at their destination.
    public var successCount: UInt64 { byStatus.reduce(0) { $0 + ($1.key.isSuccess ? $1.value : 0) } }
    /// Copies that are not.
    public var failureCount: UInt64 { byStatus.reduce(0) { $0 + ($1.key.isSuccess ? 0 : $1.value) } }
}

/// The files that a job leaves for people and programs when it ends: `results.json` and `errors.txt`.
struct JobReports {
    let folder: JobFolder
    /// What belongs to no row: folders that could not be read, destinations that failed.
    let problems: [String]
    let warnings: [String]

    /// Writes both.
    /// - Returns: the numbers of rows for each destination.
    func write() throws(BackupError) -> [String: RowCounts] {
        var counts: [String: RowCounts] = [:]
        var failureCount = 0
        let results = try DraftFile(folder.resultList)
        try results.add("[\n")
        var isFirst = true
        var lines = try LineFile(path: folder.results)
        while let line = try lines.next() {
            guard let row = RecordedRow(line) else { continue }
            try results.add((isFirst ? [] : [44, 10]) + line)
            isFirst = false
            counts[row.destination, default: RowCounts()].byStatus[row.status, default: 0] += 1
            if !row.status.isSuccess, !row.isDropped { failureCount += 1 }
        }
        try results.add("\n]\n")
        try results.finish()
        try writeErrors(failureCount)
        return counts
    }

    /// The counts first, then the lines.
    private func writeErrors(_ failureCount: Int) throws(BackupError) {
        let errors = try DraftFile(folder.errors)
        try errors.add("Errors: \(failureCount + problems.count)\n")
        try errors.add("Warnings: \(warnings.count)\n")
        for problem in problems { try errors.add("error: \(problem)\n") }
        var lines = try LineFile(path: folder.results)
        while failureCount > 0, let line = try lines.next() {
            guard let row = RecordedRow(line), !row.status.isSuccess, !row.isDropped else { continue }
            let name = MessageText.shortened(row.path, limit: 4_096)
            try errors.add("error: \(row.destination)/\(name): \(row.status.rawValue): \(row.message ?? "")\n")
        }
        for warning in warnings { try errors.add("warning: \(warning)\n") }
        try errors.finish()
    }
}
