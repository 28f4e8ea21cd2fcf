import BackupCore
import Export
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
