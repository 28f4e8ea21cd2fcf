import BackupCore
import Formats
import Glibc
import Logging
import SystemIO

/// One line of the log, independent of its destination.
struct LogLine: Sendable {
    let time: Timestamp
    let level: Logger.Level
    /// For readers of the journal; made of fields alone.
    let message: String
    let fields: [(field: LogField, value: Logger.MetadataValue)]

    /// Without a trailing line feed.
    var json: [UInt8] {
        let head = [
            OrderedJSON.Member("ts", .text(ISO8601.format(time))), OrderedJSON.Member("level", .text(level.rawValue)),
        ]
        return OrderedJSON.object(head + fields.map { .init($0.field.rawValue, Self.json($0.value)) }).compactText
    }

    var journalFields: [Journal.Field] {
        let head = [
            Journal.Field("MESSAGE", message), Journal.Field("PRIORITY", "\(level.priority)"),
            Journal.Field("SYSLOG_IDENTIFIER", "backupfs"),
        ]
        return head + fields.map { Journal.Field($0.field.journalName, $0.value.description) }
    }

    /// Numbers stay numbers.
    private static func json(_ value: Logger.MetadataValue) -> OrderedJSON {
        if case .stringConvertible(let value) = value {
            if let number = value as? Int64 { return .integer(number) }
            if let flag = value as? Bool { return .boolean(flag) }
        }
        return .text(value.description)
    }
}

/// All fields of a log line, in their order. There is no field for texts, values, paths or file names: nothing from the data can
/// get into a line.
enum LogField: String, CaseIterable, Sendable {
    case operation = "op"
    case phase
    case result
    case app
    case isAutomatic = "automatic"
    case startedAt
    case durationMilliseconds = "durationMs"
    case sizeBytes = "fileSize"
    case fileCount = "files"
    case recordCount = "records"
    case storedByteCount = "storedBytes"
    case freedByteCount = "freedBytes"
    case removedCount = "removed"
    case unreadableCount = "unreadable"
    case snapshot
    case safetyBackup
    case rule
    case warning
    case strategy
    case format
    case outcome
    case hooks
    case error
    case fileKind
    case dueAt
    case process = "pid"

    /// The name in the journal, such as `BACKUPFS_DURATION_MS`.
    var journalName: String {
        let name = self == .operation ? "operation" : rawValue
        return "BACKUPFS_"
            + name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}

/// Severity of a log line, with the words of swift-log and syslog(3).
public enum LogLevel: String, CaseIterable, Sendable {
    case trace
    case debug
    case info
    case notice
    case warning
    case error
    case critical

    var ofLogger: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
}

extension Logger.Level {
    /// The number in syslog(3).
    var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

/// Receives log lines. Lines that it cannot write are lost: a failing log must not make an operation fail.
enum LogSink: Sendable {
    case file(RotatingLog, limitBytes: UInt64, oldFileCount: Int)
    /// - otherwise: the destination while there is no journal, or the journal has no space.
    indirect case journal(Journal, otherwise: LogSink)
    case standardError

    func write(_ line: LogLine) {
        switch self {
        case .file(let file, let limitBytes, let oldFileCount):
            try? file.append(line.json, limitBytes: limitBytes, oldFileCount: oldFileCount)
        case .journal(let journal, let otherwise):
            do throws(BackupError) { try journal.write(line.journalFields) } catch { otherwise.write(line) }
        case .standardError:
            let bytes = line.json + [UInt8(ascii: "\n")]
            bytes.withUnsafeBytes { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }
}

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

/// The log settings from `store.yaml`.
public struct LogSettings: Sendable, Equatable {
    static let defaultLimitBytes = 1 << 20
    static let defaultOldFileCount = 4
    static let limitBytesRange = 4_096...(1 << 40)
    static let oldFileCountRange = 0...100

    /// `nil` for the journal where systemd runs the program as a service, and for the file elsewhere.
    public var destination: LogDestination?
    /// The least important level that is written.
    public var level = LogLevel.info
    /// Absolute, or relative to the store's folder; `nil` for `backupfs.log` in it.
    public var path: String?
    /// A file that would exceed this is rotated.
    public var limitBytes = LogSettings.defaultLimitBytes
    /// How many rotated files to keep.
    public var oldFileCount = LogSettings.defaultOldFileCount

    public init() {}
}

/// Turns the metadata that a `Logger` receives into lines: only the fields that the log has, nothing else.
struct StructuredLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level
    let sink: LogSink

    init(level: Logger.Level, sink: LogSink) {
        logLevel = level
        self.sink = sink
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let given = metadata.merging(event.metadata ?? [:]) { $1 }
        let fields = LogField.allCases.compactMap { field in given[field.rawValue].map { (field, $0) } }
        let now = SystemClock.now()
        let time = Timestamp(seconds: now.seconds, nanoseconds: now.nanoseconds / 1_000_000 * 1_000_000)
        sink.write(LogLine(time: time, level: event.level, message: event.message.description, fields: fields))
    }
}
