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
    /// The name in the app's definition.
    let app: String

    /// An operation has ended.
    public func note(_ record: OperationRecord) {
        let seconds =
            "\(record.durationMilliseconds / 1_000).\(String(record.durationMilliseconds % 1_000 + 1_000).dropFirst()) s"
        let error = record.facts.error.map { " (\($0.rawValue))" } ?? ""
        var fields = record.logFields
        // For those who look for a fault.
        if level <= .debug { fields[.causes] = .optional(record.facts.causes) }
        write(record.level, "\(record.operation.rawValue) \(record.result.rawValue)\(error) in \(seconds)", fields)
    }

    /// An operation begins.
    func noteBeginning(_ operation: OperationKind, isAutomatic: Bool) {
        write(
            .debug, "\(operation.rawValue) begun",
            [.operation: .text(operation.rawValue), .phase: .text("begun"), .isAutomatic: isAutomatic ? .boolean(true) : .null])
    }

    /// A restore has failed partway, and its changes are about to be rolled back.
    func noteRollback() {
        write(
            .notice, "\(RestoreOperation.rollingBackMessage.english)",
            [.operation: .text(OperationKind.restore.rawValue), .phase: .text("rollback")])
    }

    /// A backup was made with a warning. The status has its text: the log contains no texts.
    func note(_ warning: BackupWarning, of backup: Snapshot, isAutomatic: Bool) {
        write(
            .warning, "backup \(backup.name) has a warning (\(warning.kind.rawValue)); see: backupfs status",
            [
                .operation: .text(OperationKind.backup.rawValue), .phase: .text("warning"),
                .warning: .text(warning.kind.rawValue),
                .snapshot: .text(backup.name.description), .isAutomatic: isAutomatic ? .boolean(true) : .null,
            ])
    }

    /// An event of the schedule that belongs to no operation.
    func note(_ event: ScheduleEvent) {
        write(
            event.phase.level, "schedule \(event.phase.rawValue)",
            [
                .operation: .text("schedule"), .phase: .text(event.phase.rawValue),
                .dueAt: .optional(event.dueAt.map { ISO8601.format($0.wholeSeconds) }),
                .error: .optional(event.error?.rawValue),
            ])
    }

    /// A backup was removed: its name, and the rule that removed it.
    /// - Parameter rule: the retention rule, which did not keep this backup; empty if the user named it.
    func noteRemoval(of backup: Snapshot, rule: String) {
        let rule = rule.isEmpty ? nil : rule
        write(
            .info, "removed \(backup.name)\(rule.map { ": kept by none of \($0)" } ?? "")",
            [
                .operation: .text("retention"), .phase: .text("removed"), .snapshot: .text(backup.name.description),
                .rule: .optional(rule),
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
                .operation: .text("request"), .phase: .text(request.operation),
                .result: .text(request.error == nil ? "ok" : "failed"),
                .inode: .number(request.inode), .offset: .number(request.range?.offset),
                .length: .number(request.range?.length), .errorNumber: .optional(request.error),
                .durationMicroseconds: .number(request.durationMicroseconds),
            ])
    }

    private func write(_ level: LogLevel, _ message: String, _ fields: [LogField: OrderedJSON]) {
        guard let sink, level >= self.level else { return }
        var fields = fields
        fields[.app] = .text(app)
        fields[.process] = .number(getpid())
        sink.write(LogLine(at: SystemClock.now(), level, message, fields))
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
