import AppData
import BackupCore
import BackupRepository
import Restore

/// What an operation reports about itself while it runs: numbers, words of this program and names of backups, but none of the
/// data.
public struct OperationFacts: Sendable, Equatable {
    /// If it differs from the result that the error implies, or there is no error.
    public var result: OperationResult?
    /// `nil` when it succeeded.
    public var error: BackupError.Code?
    /// What led to the error, without texts and paths.
    public private(set) var causes: String?
    /// The subject of the error.
    public var fileKind: FileKind?
    /// The backup that was created, read or removed.
    public var snapshot: String?
    /// The safety backup that a restore made first: its name in `safety/`.
    public var safetyBackup: String?
    /// Bytes backed up, submitted, written, read or uploaded.
    public var sizeBytes: UInt64?
    /// Media files; `nil` for an operation that has none.
    public var fileCount: UInt64?
    /// Records of all collections; `nil` for an operation that has none.
    public var recordCount: UInt64?
    /// The growth of the repository.
    public var storedByteCount: UInt64?
    /// The shrinkage of the repository.
    public var freedByteCount: UInt64?
    /// The number of removed backups.
    public var removedCount: Int?
    /// Unreadable files that were left out.
    public var unreadableCount: Int?
    /// `replace`, `merge` or `skip`.
    public var strategy: String?
    /// `json`, `zip`, `tar`, `sqlite`, `csv`, `html` or `pdf`.
    public var format: String?
    /// The outcome of a recovery: `completed` or `undone`.
    public var outcome: String?
    /// The name of the remote that was uploaded to, or whose copy was read or changed.
    public var remote: String?
    /// What the operation has to say to its user, for its report in the store: the log contains no texts.
    public var details: [Message] = []
    /// Whether a command that runs around a restore failed.
    public var hasFailedHook = false

    /// A line of a list in the details.
    static func item(_ message: Message) -> Message { .joined([.verbatim("- "), message], separator: "") }

    /// The most lines in `details`.
    static let detailLimit = 200

    public init() {}

    /// The operation has failed.
    public mutating func note(_ failure: BackupError) {
        error = failure.code
        causes = failure.causeChain
    }

    /// No backup was made, since nothing has changed since the newest one.
    mutating func noteUnchanged(since newest: Snapshot?) {
        result = .skipped
        snapshot = newest?.name.description
    }

    mutating func note(_ backup: BackupResult) {
        note(backup.snapshot)
        storedByteCount = backup.storedBytes
        note(details: backup.notices)
        if let incompleteness = backup.incompleteness { note(details: incompleteness.findings.map(Self.item)) }
        if !backup.removed.isEmpty {
            note(details: ["Removed by retention: \(backup.removed.map(\.name.description).joined(separator: ", "))"])
        }
        if !backup.removed.isEmpty { removedCount = backup.removed.count }
        if !backup.unreadable.isEmpty {
            unreadableCount = backup.unreadable.count
            error = .sourceUnreadable
            fileKind = .media
        }
    }

    /// Adds lines to its report; more than a reader can use are left out.
    mutating func note(details lines: [Message]) {
        let room = Self.detailLimit - details.count
        details += lines.prefix(max(0, room))
        if lines.count > room, room > 0 { details.append("…") }
    }

    /// A backup and its content.
    mutating func note(_ backup: Snapshot) {
        snapshot = backup.name.description
        sizeBytes = backup.dataSizeBytes
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
        details = [report.text]
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

/// What a file is to a store: safe to log where the file's name is not.
public enum FileKind: String, CaseIterable, Sendable {
    case database
    case media
    case repository
    case settings
    /// Another file of the store.
    case store
    /// A file submitted for a restore.
    case imported
    case other
}

extension Store {
    /// - Parameter path: the path in an error.
    /// - Returns: `nil` for a value that is not a path, such as a name that the user entered.
    func kind(of path: String) -> FileKind? {
        guard path.hasPrefix("/") else { return nil }
        func isIn(_ folder: String) -> Bool { path == folder || path.hasPrefix("\(folder)/") }
        // The database may have a `-wal` beside it.
        if path.hasPrefix(database.path) || (try? database.realPath()).map(path.hasPrefix) == true { return .database }
        if let mediaPath, isIn(mediaPath) { return .media }
        if isIn(repository.path) { return .repository }
        if path == paths.settings { return .settings }
        return isIn(paths.root) ? .store : .other
    }
}
