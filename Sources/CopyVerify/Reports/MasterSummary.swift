import BackupCore
import Formats
import SystemIO

/// The numbers over all jobs of a master report.
struct MasterSummary {
    let transfers: [TransferRecord]
    let totalFiles: UInt64
    /// Of the sources.
    let totalBytes: UInt64
    let successCount: UInt64
    let issueCount: UInt64
    let elapsedSeconds: Double
    /// `nil` without jobs.
    let largest: TransferRecord?
    /// The destination that most jobs have, and how many; of two the first by name.
    let mostUsedDestination: (path: String, count: Int)?

    init(_ transfers: [TransferRecord]) {
        self.transfers = transfers
        totalFiles = transfers.reduce(0) { $0.addingSaturating($1.fileCount) }
        totalBytes = transfers.reduce(0) { $0.addingSaturating($1.totalBytes) }
        successCount = transfers.reduce(0) { $0.addingSaturating($1.successCount) }
        issueCount = transfers.reduce(0) { $0.addingSaturating($1.issueCount) }
        elapsedSeconds = transfers.reduce(0) { $0 + $1.elapsedSeconds }
        largest = transfers.max { $0.totalBytes < $1.totalBytes }
        var counts: [String: Int] = [:]
        for transfer in transfers { for path in Set(transfer.destinations) { counts[path, default: 0] += 1 } }
        mostUsedDestination = counts.min { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// Copies that were verified, of those that there should be. Copies whose sizes alone were compared do not count.
    var verification: (success: UInt64, all: UInt64) {
        let verified = transfers.filter(\.verification.readsBack).reduce(UInt64(0)) { $0.addingSaturating($1.successCount) }
        return (verified, successCount.addingSaturating(issueCount))
    }

    /// Bytes of a job.
    var averageBytes: UInt64 { transfers.isEmpty ? 0 : totalBytes / UInt64(transfers.count) }
    /// Files of a job.
    var averageFiles: Double { transfers.isEmpty ? 0 : Double(totalFiles) / Double(transfers.count) }
    /// Bytes of the sources for each second.
    var averageSpeed: Double { elapsedSeconds > 0 ? Double(totalBytes) / elapsedSeconds : 0 }

    /// The jobs of each camera, sorted by its name; those without a camera last.
    var cameras: [(camera: String?, transfers: [TransferRecord])] {
        let groups = Dictionary(grouping: transfers) { $0.camera?.name }
        let named = groups.compactMap { name, list in name.map { ($0, list) } }.sorted { $0.0 < $1.0 }
        return named.map { (Optional($0.0), $0.1) } + (groups[nil].map { [(nil, $0)] } ?? [])
    }
}
