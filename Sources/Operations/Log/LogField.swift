/// All that a line of the log can say, in its order. There is no field for texts, values, paths or the names of files: nothing of what is in the
/// data can get into a line.
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

    /// `BACKUPFS_DURATION_MS`: what it is called in the journal.
    var journalName: String {
        let name = self == .operation ? "operation" : rawValue
        return "BACKUPFS_"
            + name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}
