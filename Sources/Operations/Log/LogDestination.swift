/// Where the log goes.
public enum LogDestination: String, CaseIterable, Sendable {
    /// A file, `backupfs.log` in the store if none is named.
    case file
    /// The journal of systemd.
    case journal
    /// Standard error, the same lines as in the file.
    case stderr
    case none
}
