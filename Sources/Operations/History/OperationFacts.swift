import AppData
import BackupCore
import BackupRepository
import Restore

/// What an operation tells of itself while it runs: numbers, words of this program, and names of backups. Nothing of what is in the data.
public struct OperationFacts: Sendable, Equatable {
    /// If it is another than the error says, or there is no error.
    public var result: OperationResult?
    public var error: BackupError.Code?
    /// What the error was about.
    public var fileKind: FileKind?
    /// The backup that was made, read or removed.
    public var snapshot: String?
    /// The one that a restore made first: its name in `safety/`.
    public var safetyBackup: String?
    /// Bytes of what was backed up, handed in, written or read.
    public var sizeBytes: UInt64?
    public var fileCount: UInt64?
    public var recordCount: UInt64?
    /// What the repository grew by.
    public var storedByteCount: UInt64?
    /// What it shrank by.
    public var freedByteCount: UInt64?
    /// Backups that went.
    public var removedCount: Int?
    /// Files that could not be read and were left out.
    public var unreadableCount: Int?
    /// `replace`, `merge` or `skip`.
    public var strategy: String?
    /// `json`, `zip`, `tar`, `sqlite` or `csv`.
    public var format: String?
    /// Of a recovery: `completed` or `undone`.
    public var outcome: String?
    /// Whether a command around a restore failed.
    public var hasFailedHook = false

    public init() {}

    mutating func note(_ backup: BackupResult) {
        note(backup.snapshot)
        storedByteCount = backup.storedBytes
        if !backup.removed.isEmpty { removedCount = backup.removed.count }
        if !backup.unreadable.isEmpty {
            unreadableCount = backup.unreadable.count
            error = .sourceUnreadable
            fileKind = .media
        }
    }

    /// A backup, with what is in it.
    mutating func note(_ backup: Snapshot) {
        snapshot = backup.name.description
        sizeBytes = backup.record.root.totals.byteCount
        fileCount = backup.record.root.totals.fileCount
        recordCount = backup.record.attributes["records"].flatMap { UInt64($0) }
    }

    mutating func note(_ report: RestoreReport) {
        strategy = report.strategy.rawValue
        format = report.checked?.format.rawValue
        sizeBytes = report.sizeBytes
        recordCount = report.checked.map { UInt64($0.summary.recordCounts.reduce(0, +)) }
        fileCount = report.outcome?.media.map { UInt64($0.restoredCount) }
        safetyBackup = report.safetyBackup
        hasFailedHook = !report.hooks.allSatisfy(\.isSuccess)
        switch report.result {
        case .completed, .undone: outcome = report.result.rawValue
        case .refused where report.error?.code != .interrupted: result = .refused
        case .success, .refused, .failed, .unfinished, .preview: break
        }
        guard let error = report.error else { return }
        if error.path.map({ $0 == report.fileName || $0.hasSuffix("/\(report.fileName)") }) ?? true { fileKind = .imported }
    }
}
