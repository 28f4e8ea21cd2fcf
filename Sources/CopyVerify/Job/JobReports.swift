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
    private let folder: JobFolder
    /// What belongs to no row: folders that could not be read, destinations that failed.
    private let problems: [String]
    private let warnings: [String]
    /// The rows of the run that ends.
    private let ownRows: WrittenRows

    init(_ folder: JobFolder, _ problems: ProblemList, _ journal: ResultJournal) {
        self.folder = folder
        self.problems = problems.problems
        warnings = problems.warnings
        ownRows = journal.ownRows
    }

    /// Writes both.
    /// - Returns: the numbers of rows for each destination.
    func write() throws(BackupError) -> [String: RowCounts] {
        // Those are not parsed: they are most of a job of many small files.
        var counts = ownRows.isWhole ? ownRows.counts : [:]
        var failureCount = ownRows.isWhole ? ownRows.failureCount : 0
        let results = try DraftFile(folder.resultList)
        try results.add("[\n")
        var isFirst = true
        var lines = try LineFile(path: folder.results)
        while true {
            let isOwn = ownRows.isWhole && lines.offset >= ownRows.start
            guard let line = try lines.next() else { break }
            let row = isOwn ? nil : RecordedRow(line)
            guard isOwn || row != nil else { continue }
            if !isFirst { try results.add([44, 10]) }
            try results.add(line)
            isFirst = false
            guard let row else { continue }
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
