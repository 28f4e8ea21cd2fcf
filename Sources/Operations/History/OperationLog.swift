import BackupCore
import BackupRepository
import Formats
import Glibc
import Restore
import SystemIO

/// The log of a store: a line for each finished operation and for some other events, with time, result and size, but nothing from
/// the data.
public struct OperationLog: Sendable {
    /// Lines below it are left out.
    let level: LogLevel
    /// `nil` where nothing is logged.
    let sink: LogSink?
    /// The name in the app's definition; `nil` without a store.
    let app: String?

    /// An operation has ended.
    public func note(_ record: OperationRecord) {
        let seconds =
            "\(record.durationMilliseconds / 1_000).\(String(record.durationMilliseconds % 1_000 + 1_000).dropFirst()) s"
        let error = record.facts.error.map { " (\($0.rawValue))" } ?? ""
        // The causes are for those who look for a fault.
        let fields = record.logFields(withCauses: level <= .debug)
        write(record.level, "\(record.operation.rawValue) \(record.result.rawValue)\(error) in \(seconds)", fields)
    }

    /// An operation begins.
    func noteBeginning(_ operation: OperationKind, isAutomatic: Bool) {
        write(
            .debug, "\(operation.rawValue) begun",
            [.operation: operation.rawValue, .phase: "begun", .isAutomatic: isAutomatic ? Optional(true) : nil])
    }

    /// A restore has failed partway, and its changes are about to be rolled back.
    func noteRollback() {
        write(
            .notice, "\(RestoreOperation.rollingBackMessage.english)",
            [.operation: OperationKind.restore.rawValue, .phase: "rollback"])
    }

    /// A backup was made with a warning. The status has its text: the log contains no texts.
    func note(_ warning: BackupWarning, of backup: Snapshot, isAutomatic: Bool) {
        write(
            .warning, "backup \(backup.name) has a warning (\(warning.kind.rawValue)); see: backupfs status",
            [
                .operation: OperationKind.backup.rawValue, .phase: "warning", .warning: warning.kind.rawValue,
                .snapshot: backup.name.description, .isAutomatic: isAutomatic ? Optional(true) : nil,
            ])
    }

    /// An event of the schedule that belongs to no operation.
    func note(_ event: ScheduleEvent) {
        write(
            event.phase.level, "schedule \(event.phase.rawValue)",
            [
                .operation: "schedule", .phase: event.phase.rawValue, .dueAt: event.dueAt?.wholeSeconds,
                .error: event.error?.rawValue,
            ])
    }

    /// A backup was removed: its name, and the rule that removed it.
    /// - Parameter rule: the retention rule, which did not keep this backup; empty if the user named it.
    func noteRemoval(of backup: Snapshot, rule: String) {
        let rule = rule.isEmpty ? nil : rule
        write(
            .info, "removed \(backup.name)\(rule.map { ": kept by none of \($0)" } ?? "")",
            [
                .operation: "retention", .phase: "removed", .snapshot: backup.name.description, .rule: rule,
            ])
    }

    /// The export of a backup that does not store it cannot be shown to a program.
    func noteRendering(of backup: Snapshot, _ error: BackupError) {
        write(
            .error, "the export of \(backup.name) cannot be rendered (\(error.code.rawValue))",
            [
                .operation: OperationKind.export.rawValue, .phase: "rendering", .result: "failed",
                .snapshot: backup.name.description, .error: error.code.rawValue,
            ])
    }

    /// Whether the log has a line for each request of a mount.
    public var tracesRequests: Bool { sink != nil && level == .trace }

    /// A mount has answered a request.
    public func note(_ request: ServedRequest) {
        let result = request.error ?? "ok"
        write(
            .trace, "request \(request.operation) of \(request.inode): \(result) in \(request.durationMicroseconds) us",
            [
                .operation: "request", .phase: request.operation, .result: request.error == nil ? "ok" : "failed",
                .inode: request.inode, .offset: request.range?.offset, .length: request.range?.length,
                .errorNumber: request.error, .durationMicroseconds: request.durationMicroseconds,
            ])
    }

    private func write(_ level: LogLevel, _ message: String, _ fields: KeyValuePairs<LogField, any JSONConvertible>) {
        guard let sink, level >= self.level else { return }
        let own: KeyValuePairs<LogField, any JSONConvertible> = [.app: app, .process: getpid()]
        sink.write(LogLine(at: SystemClock.now(), level, message, Array(fields) + Array(own)))
    }
}

extension BackupError {
    /// The kinds of its causes, nearest first, without texts and paths: `accessDenied < open the file: EACCES`; `nil` if there
    /// are none.
    var causeChain: String? {
        var parts: [String] = []
        var next = cause
        while let cause = next {
            next = nil
            switch cause {
            // The template has no values, such as a new name.
            case .system(let action, let number): parts.append("\(action.template): \(SystemCall.name(number))")
            case .sqlite(let code): parts.append("SQLite \(code)")
            case .error(let error):
                parts.append(error.code.rawValue)
                next = error.cause
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: " < ")
    }
}

/// An event of the schedule other than its backups.
struct ScheduleEvent: Sendable {
    enum Phase: String, Sendable {
        case notDue = "not-due"
        case due
        /// Another operation is running; the schedule checks again within seconds.
        case busy
        /// A backup failed or gave way, and is retried.
        case retry
        /// Automatic backups keep failing.
        case failing
        /// No backup was made for days.
        case overdue
        /// A backup succeeded after that.
        case recovered

        var level: LogLevel {
            switch self {
            case .notDue, .busy: .trace
            case .due: .debug
            case .retry: .warning
            case .failing, .overdue: .error
            case .recovered: .notice
            }
        }
    }

    let phase: Phase
    /// When the next backup is due, or this one was.
    var dueAt: Timestamp?
    var error: BackupError.Code?
}
