import AppData
import BackupCore
import Glibc
import Restore
import SystemIO

/// `backupfs.log` of a store: a line for each restore that has ended, with its time, result and size, and with nothing of what is in the data: no
/// names of files, no values, no messages that may quote them.
struct OperationLog {
    private static let sizeLimitBytes: UInt64 = 1 << 20

    let path: String

    /// A log that cannot be written must not make an operation fail.
    func note(_ report: RestoreReport) {
        var fields = ["result=\(report.result.rawValue)", "strategy=\(report.strategy.rawValue)"]
        if let error = report.error { fields.append("error=\(error.code.rawValue)") }
        if let format = report.checked?.format { fields.append("format=\(format.rawValue)") }
        if let size = report.sizeBytes { fields.append("bytes=\(size)") }
        if let counts = report.checked?.summary.recordCounts { fields.append("records=\(counts.reduce(0, +))") }
        if let files = report.outcome?.media?.restoredCount { fields.append("files=\(files)") }
        let seconds = report.finishedAt.seconds - report.startedAt.seconds
        fields.append("seconds=\(seconds)")
        if report.safetyBackup != nil { fields.append("safety=yes") }
        if !report.hooks.allSatisfy(\.isSuccess) { fields.append("hooks=failed") }
        append("\(ISO8601.format(report.finishedAt.wholeSeconds)) restore \(fields.joined(separator: " "))\n")
    }

    private func append(_ line: String) {
        if let size = FileSystem.statusIfPresent(path)?.size, size > Self.sizeLimitBytes {
            try? FileSystem.rename(path, to: path + ".1")
        }
        guard let file = try? OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_APPEND, permissions: 0o600) else { return }
        var line = line
        // In one call: other processes may write as well.
        try? line.withUTF8 { bytes in
            try file.writeAll(UnsafeRawBufferPointer(bytes))
        }
    }
}
