import BackupCore
import BackupRepository
import Glibc
import Logging
import Restore
import SystemIO

/// The log of a store: a line for each finished operation and for some other events, with time, result and size, but nothing from
/// the data.
public struct OperationLog: Sendable {
    /// `nil` where nothing is logged.
    private let logger: Logger?
    private let app: String

    /// - Parameters:
    ///   - sink: `nil` for none.
    ///   - app: the name in the app's definition.
    init(level: LogLevel, sink: LogSink?, app: String) {
        logger = sink.map { sink in
            Logger(label: "backupfs") { _ in StructuredLogHandler(level: level.ofLogger, sink: sink) }
        }
        self.app = app
    }

    /// An operation has ended.
    public func note(_ record: OperationRecord) {
        let seconds =
            "\(record.durationMilliseconds / 1_000).\(String(record.durationMilliseconds % 1_000 + 1_000).dropFirst()) s"
        let error = record.facts.error.map { " (\($0.rawValue))" } ?? ""
        write(
            record.level, "\(record.operation.rawValue) \(record.result.rawValue)\(error) in \(seconds)", record.logFields)
    }

    /// An operation begins.
    func noteBeginning(_ operation: OperationKind, isAutomatic: Bool) {
        write(
            .debug, "\(operation.rawValue) begun",
            [.operation: operation.rawValue.field, .phase: "begun", .isAutomatic: isAutomatic ? true.field : nil])
    }

    /// A restore has failed partway, and its changes are about to be rolled back.
    func noteRollback() {
        write(
            .notice, "\(RestoreOperation.rollingBackMessage.english)",
            [.operation: OperationKind.restore.rawValue.field, .phase: "rollback"])
    }

    /// A backup was made with a warning. The status has its text: the log contains no texts.
    func note(_ warning: BackupWarning, of backup: Snapshot, isAutomatic: Bool) {
        write(
            .warning, "backup \(backup.name) has a warning (\(warning.kind.rawValue)); see: backupfs status",
            [
                .operation: OperationKind.backup.rawValue.field, .phase: "warning", .warning: warning.kind.rawValue.field,
                .snapshot: backup.name.description.field, .isAutomatic: isAutomatic ? true.field : nil,
            ])
    }

    /// An event of the schedule that belongs to no operation.
    func note(_ event: ScheduleEvent) {
        write(
            event.phase.level, "schedule \(event.phase.rawValue)",
            [
                .operation: "schedule", .phase: event.phase.rawValue.field,
                .dueAt: event.dueAt.map { ISO8601.format($0.wholeSeconds).field }, .error: event.error?.rawValue.field,
            ])
    }

    /// A backup was removed: its name, and the rule that removed it.
    func note(_ event: RemovalEvent) {
        let rule = event.rule.isEmpty ? nil : event.rule
        write(
            .info, "removed \(event.snapshot)\(rule.map { ": kept by none of \($0)" } ?? "")",
            [.operation: "retention", .phase: "removed", .snapshot: event.snapshot.field, .rule: rule?.field])
    }

    private func write(_ level: LogLevel, _ message: String, _ fields: KeyValuePairs<LogField, Logger.MetadataValue?>) {
        guard let logger, level.ofLogger >= logger.logLevel else { return }
        var metadata: Logger.Metadata = [
            LogField.app.rawValue: app.field, LogField.process.rawValue: getpid().field,
        ]
        for (field, value) in fields { metadata[field.rawValue] = value }
        logger.log(level: level.ofLogger, "\(message)", metadata: metadata)
    }
}

extension BinaryInteger {
    /// As a log field that stays a number.
    var field: Logger.MetadataValue { .stringConvertible(Int64(clamping: self)) }
}

extension Bool {
    var field: Logger.MetadataValue { .stringConvertible(self) }
}

extension String {
    var field: Logger.MetadataValue { .string(self) }
}
