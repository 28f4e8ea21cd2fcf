import BackupCore
import Formats
import Glibc
import SystemIO

/// One line of the log, independent of its destination.
struct LogLine: Sendable {
    /// To the millisecond.
    let time: Timestamp
    let level: LogLevel
    /// For readers of the journal; made of fields alone.
    let message: String
    /// In their order, without those that have no value.
    private let fields: [(field: LogField, value: OrderedJSON)]

    init(at now: Timestamp, _ level: LogLevel, _ message: String, _ fields: [(key: LogField, value: any JSONConvertible)]) {
        time = Timestamp(seconds: now.seconds, nanoseconds: now.nanoseconds / 1_000_000 * 1_000_000)
        self.level = level
        self.message = message
        let values = Dictionary(fields.map { ($0.key, $0.value.json) }) { first, _ in first }
        self.fields = LogField.allCases.compactMap { field in
            values[field].flatMap { $0 == .null ? nil : (field: field, value: $0) }
        }
    }

    /// Without a trailing line feed.
    var json: [UInt8] {
        let head = [
            OrderedJSON.Member("ts", time), OrderedJSON.Member("level", level.rawValue),
        ]
        return OrderedJSON.object(head + fields.map { .init($0.field.rawValue, $0.value) }).compactText
    }

    var journalFields: [Journal.Field] {
        let head = [
            Journal.Field("MESSAGE", message), Journal.Field("PRIORITY", "\(level.priority)"),
            Journal.Field("SYSLOG_IDENTIFIER", "backupfs"),
        ]
        return head
            + fields.map { (field, value) -> Journal.Field in
                if case .text(let word) = value { return Journal.Field(field.journalName, word) }
                return Journal.Field(field.journalName, String(decoding: value.compactText, as: UTF8.self))
            }
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
    case remote
    case hooks
    case error
    case causes
    case fileKind
    case dueAt
    case inode
    case offset
    case length
    case errorNumber = "errno"
    case durationMicroseconds = "durationUs"
    case process = "pid"

    /// The name in the journal, such as `BACKUPFS_DURATION_MS`.
    var journalName: String {
        let name = self == .operation ? "operation" : rawValue
        return "BACKUPFS_"
            + name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}

/// Severity of a log line, with the words of syslog(3) and, below them, `trace`; in rising order.
public enum LogLevel: String, CaseIterable, Sendable, Comparable {
    case trace
    case debug
    case info
    case notice
    case warning
    case error
    case critical

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

    /// Whether the first is less severe.
    public static func < (one: LogLevel, other: LogLevel) -> Bool {
        one.priority == other.priority ? one == .trace && other == .debug : one.priority > other.priority
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
    /// `nil` for the journal where systemd runs the program as a service, and for the file elsewhere.
    public var destination: LogDestination?
    /// The least important level that is written.
    public var level = LogLevel.info
    /// Absolute, or relative to the store's folder; `nil` for `backupfs.log` in it.
    public var path: String?
    /// A file that would exceed this is rotated.
    public var limitBytes = 1 << 20
    /// How many rotated files to keep.
    public var oldFileCount = 4

    public init() {}
}
