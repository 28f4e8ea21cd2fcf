import BackupCore
import SystemIO

/// What goes before the settings of the log, for one process: the command line, and environment variables.
public struct LogOverrides: Sendable, Equatable {
    public var destination: LogDestination?
    public var level: LogLevel?
    /// Absolute.
    public var path: String?

    public init(destination: LogDestination? = nil, level: LogLevel? = nil, path: String? = nil) {
        self.destination = destination
        self.level = level
        self.path = path
    }

    /// `BACKUPFS_LOG`, `BACKUPFS_LOG_LEVEL` and `BACKUPFS_LOG_FILE`. What cannot be read is left out; `backupfs config check` tells of it.
    public static var environment: LogOverrides {
        var overrides = LogOverrides()
        overrides.destination = Environment.log.flatMap { try? SettingValue.word($0, LogDestination.self) }
        overrides.level = Environment.logLevel.flatMap { try? SettingValue.word($0, LogLevel.self) }
        overrides.path = Environment.logFile.map(FileSystem.absolutePath)
        if overrides.destination == nil, overrides.path != nil { overrides.destination = .file }
        return overrides
    }

    /// - Parameter resolve: makes a path of the settings absolute.
    /// - Returns: where the log goes now; `nil` for nowhere.
    func sink(_ settings: LogSettings, ownPath: String, resolve: (String) -> String) -> LogSink? {
        let file = LogSink.file(
            LineFile(path: path ?? settings.path.map(resolve) ?? ownPath), limitBytes: UInt64(settings.limitBytes),
            oldFileCount: settings.oldFileCount)
        switch destination ?? settings.destination {
        case .none?: return nil
        case .file?: return file
        case .stderr?: return .standardError
        case .journal?: return .journal(Journal(), otherwise: file)
        // Whoever has named a file wants it there.
        case nil:
            return path == nil && settings.path == nil && Journal.receivesStandardError
                ? .journal(Journal(), otherwise: file) : file
        }
    }
}
