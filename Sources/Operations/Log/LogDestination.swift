/// Where the log goes.
public enum LogDestination: String, CaseIterable, Sendable {
    /// A file; `backupfs.log` in the store by default.
    case file
    /// The systemd journal.
    case journal
    /// Standard error, with the same lines as the file.
    case stderr
    case none
}
