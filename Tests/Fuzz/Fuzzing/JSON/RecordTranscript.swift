import AppData
import BackupCore

/// All that a source of records says, as one text that can be compared.
final class RecordTranscript: RecordVisitor {
    private(set) var text = ""
    private(set) var recordCount = 0

    func visit(metadata: RecordBuffer) { append("metadata", metadata) }
    func visit(settings: RecordBuffer) { append("settings", settings) }
    func beginCollection(_ collection: Int) { text += "collection \(collection)\n" }
    func visit(unknownField path: String) { text += "unknown \(path)\n" }
    func visit(misplaced message: String) { text += "misplaced \(message)\n" }

    func visit(record: RecordBuffer, of collection: Int) {
        recordCount += 1
        append("record of \(collection)", record)
    }

    private func append(_ what: String, _ buffer: RecordBuffer) {
        text += what
        for index in 0..<buffer.fieldCount { text += " \(buffer.kind(index)) \(buffer.value(index))" }
        text += "\n"
    }
}
