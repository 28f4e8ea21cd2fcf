import Glibc

/// The values of environment variables.
public enum Environment {
    /// `BACKUPFS_SCHEDULE`: overrides the settings.
    public static var schedule: String? { text("BACKUPFS_SCHEDULE") }
    /// `BACKUPFS_MKDIR_WAITS`: overrides the settings.
    public static var makeDirectoryWait: String? { text("BACKUPFS_MKDIR_WAITS") }
    /// `BACKUPFS_LOG`, `BACKUPFS_LOG_LEVEL`, `BACKUPFS_LOG_FILE`: override the settings of the log.
    public static var log: String? { text("BACKUPFS_LOG") }
    public static var logLevel: String? { text("BACKUPFS_LOG_LEVEL") }
    public static var logFile: String? { text("BACKUPFS_LOG_FILE") }

    /// `BACKUPFS_STALL_SECONDS`: for tests, how long storage may be idle before callers that wait for it get an error.
    public static var stallSeconds: Double? { text("BACKUPFS_STALL_SECONDS").flatMap { Double($0) }.map { max(0.1, $0) } }

    /// - Returns: `nil` for an unset or empty variable.
    public static func text(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }
}
