import BackupCore
import Formats
import SystemIO

extension JobFolder {
    /// Calls `body` with each row of the job, in the order in which they became certain.
    func forEachRow(_ body: (RecordedRow) throws(BackupError) -> Void) throws(BackupError) {
        try forEachRow(upTo: .max, where: { _ in true }, body)
    }

    /// The first rows of a kind.
    /// - Returns: how many there were, at most `limit`.
    @discardableResult
    func forEachRow(
        upTo limit: UInt64, where isWanted: (RecordedRow) -> Bool, _ body: (RecordedRow) throws(BackupError) -> Void
    ) throws(BackupError) -> UInt64 {
        guard try FileSystem.exists(results) else { return 0 }
        var lines = try LineFile(path: results)
        var count: UInt64 = 0
        while count < limit, let line = try lines.next() {
            try Cancellation.check()
            guard let row = RecordedRow(line), isWanted(row) else { continue }
            count += 1
            try body(row)
        }
        return count
    }
}

extension JobStory {
    /// The rows in the order of a report: what failed first, and of that what was not even tried last.
    func forEachRowByWeight(_ body: (RecordedRow) throws(BackupError) -> Void) throws(BackupError) {
        try forEachFailure(upTo: .max, body)
        try folder.forEachRow(upTo: .max, where: \.status.isSuccess, body)
    }

    /// The same of what failed, as far as the limit.
    func forEachFailure(
        upTo limit: UInt64, _ body: (RecordedRow) throws(BackupError) -> Void
    ) throws(BackupError) {
        let failureCount = destinations.reduce(0) { $0 + $1.counts.failureCount }
        let untriedCount = destinations.reduce(0) { $0 + $1.untriedCount }
        var count: UInt64 = 0
        if failureCount > untriedCount {
            count = try folder.forEachRow(upTo: limit, where: { !$0.status.isSuccess && !$0.isDropped }, body)
        }
        if untriedCount > 0 {
            try folder.forEachRow(upTo: limit - count, where: { !$0.status.isSuccess && $0.isDropped }, body)
        }
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
