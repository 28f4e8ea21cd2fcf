import BackupCore
import Logging
import SystemIO

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
