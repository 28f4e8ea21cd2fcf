/// All fields of a log line, in their order. There is no field for texts, values, paths or file names: nothing from the data can get into a line.
enum LogField: String, CaseIterable, Sendable {
    case operation = "op"
    case phase
    case result
    case app
    case isAutomatic = "automatic"
    case startedAt
    case durationMilliseconds = "durationMs"
    case sizeBytes = "fileSize"
    case fileCount = "files"
    case recordCount = "records"
    case storedByteCount = "storedBytes"
    case freedByteCount = "freedBytes"
    case removedCount = "removed"
    case unreadableCount = "unreadable"
    case snapshot
    case safetyBackup
    case rule
    case warning
    case strategy
    case format
    case outcome
    case hooks
    case error
    case fileKind
    case dueAt
    case process = "pid"

    /// The name in the journal, such as `BACKUPFS_DURATION_MS`.
    var journalName: String {
        let name = self == .operation ? "operation" : rawValue
        return "BACKUPFS_"
            + name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}
