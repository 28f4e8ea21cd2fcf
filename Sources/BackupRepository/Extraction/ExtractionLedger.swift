import BackupCore
import Glibc
import Synchronization

/// The progress and results of all threads of an extraction.
final class ExtractionLedger: Sendable {
    private let state = Mutex(ExtractionReport())
    private let totals: DirectoryTotals
    private let phase: Message
    private let progress: ProgressHandler?
    /// The owner of entries in the media folder that name none; `nil` if unknown, or if only root could set it.
    let mediaOwner: FileOwner?
    /// Only root can change the owner of files.
    let restoresOwners = geteuid() == 0

    init(_ totals: DirectoryTotals, mediaOwner: FileOwner?, phase: Message, _ progress: ProgressHandler?) {
        self.totals = totals
        self.mediaOwner = restoresOwners ? mediaOwner : nil
        self.phase = phase
        self.progress = progress
    }

    func add(files: Int, bytes: UInt64) {
        let (fileCount, byteCount) = state.withLock { state in
            state.fileCount += UInt64(files)
            state.byteCount += bytes
            return (state.fileCount, state.byteCount)
        }
        guard let progress else { return }
        var now = OperationProgress(phase: phase)
        now.totalItems = UInt64(totals.fileCount)
        now.processedItems = fileCount
        now.processedBytes = byteCount
        progress(now)
    }

    func add(_ error: BackupError, path: [UInt8]) {
        state.withLock { state in
            state.failureCount += 1
            guard state.failures.count < ExtractionReport.failureLimit else { return }
            state.failures.append(ExtractionReport.Failure(path: FileName(bytes: path), error: error))
        }
    }

    /// Records a file that was extracted without all of its metadata.
    func addIncomplete(_ error: BackupError, path: [UInt8]) {
        state.withLock { state in
            state.incompleteCount += 1
            if state.firstIncomplete == nil {
                state.firstIncomplete = ExtractionReport.Failure(path: FileName(bytes: path), error: error)
            }
        }
    }

    func report() -> ExtractionReport {
        var report = state.withLock { $0 }
        report.failures.sort { $0.path < $1.path }
        return report
    }
}
