import BackupCore

/// An event of the schedule other than its backups.
struct ScheduleEvent: Sendable {
    enum Phase: String, Sendable {
        case notDue = "not-due"
        case due
        /// Another operation is running; the schedule checks again within seconds.
        case busy
        /// A backup failed or gave way, and is retried.
        case retry
        /// Automatic backups keep failing.
        case failing
        /// No backup was made for days.
        case overdue
        /// A backup succeeded after that.
        case recovered

        var level: LogLevel {
            switch self {
            case .notDue, .busy: .trace
            case .due: .debug
            case .retry: .warning
            case .failing, .overdue: .error
            case .recovered: .notice
            }
        }
    }

    let phase: Phase
    /// When the next backup is due, or this one was.
    var dueAt: Timestamp?
    var error: BackupError.Code?
}
