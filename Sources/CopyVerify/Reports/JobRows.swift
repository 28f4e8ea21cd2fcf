import BackupCore
import Formats
import SystemIO

extension JobFolder {
    /// Calls `body` with each row of the job, in the order in which they became certain.
    func forEachRow(_ body: (RecordedRow) throws(BackupError) -> Void) throws(BackupError) {
        guard try FileSystem.exists(results) else { return }
        var lines = try LineFile(path: results)
        while let line = try lines.next() {
            try Cancellation.check()
            if let row = RecordedRow(line) { try body(row) }
        }
    }
}

extension JobStory {
    /// The rows in the order of a report: what failed first, and of that what was not even tried last.
    func forEachRowByWeight(_ body: (RecordedRow) throws(BackupError) -> Void) throws(BackupError) {
        let failureCount = destinations.reduce(0) { $0 + $1.counts.failureCount }
        let untriedCount = destinations.reduce(0) { $0 + $1.untriedCount }
        if failureCount > untriedCount {
            try folder.forEachRow { (row) throws(BackupError) in if !row.status.isSuccess, !row.isDropped { try body(row) } }
        }
        if untriedCount > 0 {
            try folder.forEachRow { (row) throws(BackupError) in if !row.status.isSuccess, row.isDropped { try body(row) } }
        }
        try folder.forEachRow { (row) throws(BackupError) in if row.status.isSuccess { try body(row) } }
    }
}

extension RecordedRow {
    /// Absolute. Bytes that are not UTF-8 are replaced.
    var targetPath: String { "\(destination)/\(String(decoding: target, as: UTF8.self))" }

    /// In the source. Bytes that are not UTF-8 are replaced.
    var pathText: String { String(decoding: path, as: UTF8.self) }

    /// Without the dot, in lower case; empty without one.
    var fileExtension: String { SourceInfo.ending(of: FileName(bytes: BytePath.lastComponent(of: path))) }
}
