import BackupCore
import SystemIO

/// Overrides of the log settings for one process: from the command line and from environment variables.
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

    /// `BACKUPFS_LOG`, `BACKUPFS_LOG_LEVEL` and `BACKUPFS_LOG_FILE`. Invalid values are ignored; `backupfs config check` reports
    /// them.
    public static var environment: LogOverrides {
        var overrides = LogOverrides()
        overrides.destination = Setting.log.override.flatMap { try? Setting.word(LogDestination.self)($0) }
        overrides.level = Setting.logLevel.override.flatMap { try? Setting.word(LogLevel.self)($0) }
        overrides.path = Setting.logFile.override.map(FileSystem.absolutePath)
        if overrides.destination == nil, overrides.path != nil { overrides.destination = .file }
        return overrides
    }

    /// - Parameter resolve: makes a path from the settings absolute.
    /// - Returns: the current destination; `nil` for none.
    func sink(_ settings: LogSettings, ownPath: String, resolve: (String) -> String) -> LogSink? {
        let file = LogSink.file(
            RotatingLog(path: path ?? settings.path.map(resolve) ?? ownPath), limitBytes: UInt64(settings.limitBytes),
            oldFileCount: settings.oldFileCount)
        switch destination ?? settings.destination {
        case .none?: return nil
        case .file?: return file
        case .stderr?: return .standardError
        case .journal?: return .journal(Journal(), otherwise: file)
        // A named file takes precedence over the journal.
        case nil:
            return path == nil && settings.path == nil && Journal.receivesStandardError
                ? .journal(Journal(), otherwise: file) : file
        }
    }
}

/// How long `mkdir` in a mount waits for its backup before it returns with a pending folder.
public enum MakeDirectoryWait: Sendable, Equatable {
    case always
    case never
    /// 1 to 3,600 seconds.
    case seconds(Int)

    /// The value from the environment, which overrides the settings; an invalid one is ignored.
    static var ofEnvironment: MakeDirectoryWait? { Setting.makeDirectoryWait.override.flatMap { try? Self(parsing: $0) } }
    private static let range = 1...3_600

    /// `2s`, `always` or `never`.
    /// - Throws: `usage`.
    init(parsing text: String) throws(BackupError) {
        switch text.lowercased() {
        case "always": self = .always
        case "never": self = .never
        case let word:
            guard word.last == "s", let number = Int(word.dropLast()), Self.range.contains(number) else {
                throw BackupError(
                    .usage, "it cannot be “\(MessageText.shortened(text))”",
                    remedy: "Write always, never, or seconds such as 2s, from 1s to 3600s.")
            }
            self = .seconds(number)
        }
    }

    /// In seconds; `nil` for no limit.
    public var seconds: Double? {
        switch self {
        case .always: nil
        case .never: 0
        case .seconds(let number): Double(number)
        }
    }
}
