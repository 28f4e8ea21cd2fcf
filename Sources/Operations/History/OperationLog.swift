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
            [.operation: .string(operation.rawValue), .phase: "begun"].merging(isAutomatic ? [.isAutomatic: true.field] : [:]) {
                $1
            })
    }

    /// A restore has failed partway, and its changes are about to be rolled back.
    func noteRollback() {
        write(
            .notice, "\(RestoreOperation.rollingBackMessage.english)",
            [.operation: .string(OperationKind.restore.rawValue), .phase: "rollback"])
    }

    /// A backup was made with a warning. The status has its text: the log contains no texts.
    func note(_ warning: BackupWarning, of backup: Snapshot, isAutomatic: Bool) {
        var fields: [LogField: Logger.MetadataValue] = [
            .operation: .string(OperationKind.backup.rawValue), .phase: "warning", .warning: .string(warning.kind.rawValue),
            .snapshot: .string(backup.name.description),
        ]
        if isAutomatic { fields[.isAutomatic] = true.field }
        write(.warning, "backup \(backup.name) has a warning (\(warning.kind.rawValue)); see: backupfs status", fields)
    }

    /// An event of the schedule that belongs to no operation.
    func note(_ event: ScheduleEvent) {
        var fields: [LogField: Logger.MetadataValue] = [.operation: "schedule", .phase: .string(event.phase.rawValue)]
        fields[.dueAt] = event.dueAt.map { .string(ISO8601.format($0.wholeSeconds)) }
        fields[.error] = event.error.map { .string($0.rawValue) }
        write(event.phase.level, "schedule \(event.phase.rawValue)", fields)
    }

    /// A backup was removed: its name, and the rule that removed it.
    func note(_ event: RemovalEvent) {
        var fields: [LogField: Logger.MetadataValue] = [
            .operation: "retention", .phase: "removed", .snapshot: .string(event.snapshot),
        ]
        fields[.rule] = event.rule.isEmpty ? nil : .string(event.rule)
        let reason = event.rule.isEmpty ? "" : ": kept by none of \(event.rule)"
        write(.info, "removed \(event.snapshot)\(reason)", fields)
    }

    private func write(_ level: LogLevel, _ message: String, _ fields: [LogField: Logger.MetadataValue]) {
        guard let logger, level.ofLogger >= logger.logLevel else { return }
        var metadata: Logger.Metadata = [:]
        for (field, value) in fields { metadata[field.rawValue] = value }
        metadata[LogField.app.rawValue] = .string(app)
        metadata[LogField.process.rawValue] = Int64(getpid()).field
        logger.log(level: level.ofLogger, "\(message)", metadata: metadata)
    }
}

extension Int64 {
    /// As a log field that stays a number.
    var field: Logger.MetadataValue { .stringConvertible(self) }
}

extension Bool {
    var field: Logger.MetadataValue { .stringConvertible(self) }
}
