import BackupCore

/// The subjects of notices about automatic backups.
enum AutomaticNotice: String, Sendable {
    /// A backup was made.
    case made
    /// A backup was due, but nothing had changed.
    case unchanged
    /// Enough have failed in a row that the user should know.
    case failing
    /// None has succeeded for days since one was due.
    case overdue
    /// A backup succeeded after a notice of failures.
    case recovered

    /// Whether it is sent where only failures are reported.
    var isAboutFailure: Bool {
        switch self {
        case .failing, .overdue, .recovered: true
        case .made, .unchanged: false
        }
    }
}

/// Which notices of automatic backups a user wants: the setting `notify-automatic`.
public enum AutomaticNotices: String, CaseIterable, Sendable {
    case off
    /// When backups fail, when none was made for days, and when they work again.
    case failures
    /// Also each backup that was made or had nothing to do.
    case all
}
