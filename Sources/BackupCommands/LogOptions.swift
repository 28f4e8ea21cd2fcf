import ArgumentParser
import BackupCore
import Operations
import SystemIO

extension LogLevel: ExpressibleByArgument {}

/// The log options of one command, which override the settings and the environment.
struct LogOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "How much is logged (default: $BACKUPFS_LOG_LEVEL, else the store's settings, else info).", valueName: "level"))
    var logLevel: LogLevel?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The file to log to; \"-\" for standard error (default: $BACKUPFS_LOG_FILE, else what the store's settings say).",
            valueName: "file"), completion: .file())
    var logFile: String?

    init() {}

    var overrides: LogOverrides {
        var overrides = LogOverrides.environment
        if let logLevel { overrides.level = logLevel }
        if logFile == "-" {
            overrides.destination = .stderr
        } else if let logFile {
            overrides.destination = .file
            overrides.path = FileSystem.absolutePath(logFile)
        }
        return overrides
    }

    /// The options for another process of this program.
    var arguments: [String] {
        (logLevel.map { ["--log-level", $0.rawValue] } ?? [])
            + (logFile.map { ["--log-file", $0 == "-" ? $0 : FileSystem.absolutePath($0)] } ?? [])
    }
}
