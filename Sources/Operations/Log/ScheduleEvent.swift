import BackupCore

/// What happens to the schedule besides the backups that it makes.
struct ScheduleEvent: Sendable {
    enum Phase: String, Sendable {
        case notDue = "not-due"
        case due
        /// Somebody else's operation runs; it is looked at again within seconds.
        case busy
        /// A backup has failed or has given way, and is tried again.
        case retry
        /// Automatic backups fail again and again.
        case failing
        /// None was made for days.
        case overdue
        /// One was made after that.
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
