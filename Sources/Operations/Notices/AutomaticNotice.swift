import BackupCore

/// What there is to say of the backups that a store makes by itself.
enum AutomaticNotice: String, Sendable {
    /// One was made.
    case made
    /// One was due, and nothing had changed.
    case unchanged
    /// So many have failed in a row that a user should know.
    case failing
    /// None has succeeded for so many days since one was due.
    case overdue
    /// One has succeeded after a notice that they fail.
    case recovered

    /// Whether it is told where only failures are.
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
    /// When they fail, when none was made for days, and when they work again.
    case failures
    /// Each that was made or had nothing to do as well.
    case all
}
