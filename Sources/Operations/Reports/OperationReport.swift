import BackupCore
import Formats
import SystemIO

/// What is kept of a finished operation for people: its record, and what it had to say. A file of `reports/` in the store and in
/// the mount.
public struct OperationReport: Sendable {
    private static let version = 1

    let record: OperationRecord
    /// What the operation reported, line by line, in the store's language at that time; empty if there was nothing to say.
    let text: String

    /// - Parameters:
    ///   - record: with the details in its facts.
    ///   - error: that ended the operation.
    init(_ record: OperationRecord, error: BackupError?, in language: Language) {
        self.record = record
        var lines = record.facts.details
        if lines.isEmpty, let error { lines = [error.summary] + error.findings.map(OperationFacts.item) }
        text = lines.map { language.text($0) }.joined(separator: "\n")
    }

    /// - Throws: `damagedContent` for bytes that are no report of this version.
    init(_ json: [UInt8], path: String) throws(BackupError) {
        let members = JSONMembers(json)
        guard let version: Int = members.number("version"), version == Self.version,
            let read = OperationRecord(members)
        else { throw BackupError(.damagedContent, "this is not a report of an operation", path: path) }
        var facts = read.facts
        facts.strategy = members.text("strategy")
        facts.format = members.text("format")
        facts.safetyBackup = members.text("safetyBackup")
        facts.unreadableCount = members.number("unreadable")
        record = OperationRecord(
            read.operation, isAutomatic: read.isAutomatic, startedAt: read.startedAt,
            durationMilliseconds: read.durationMilliseconds, result: read.result, facts: facts)
        text = members.text("text") ?? ""
    }

    /// The file: one object without others in it.
    var json: [UInt8] {
        let facts = record.facts
        let version: OrderedJSON = ["version": Self.version]
        return version.adding(record.historyJSON).adding([
            "strategy": facts.strategy, "format": facts.format, "safetyBackup": facts.safetyBackup,
            "unreadable": facts.unreadableCount, "text": text,
        ]).prettyText
    }

    /// Whether an operation gets a report: those that made, changed, checked or copied backups or the app's data, unless there
    /// was nothing to do or another operation was running.
    static func isKept(of record: OperationRecord) -> Bool {
        switch record.operation {
        case .backup, .restore, .extract, .forget, .prune, .check, .repair, .verify, .copySnapshots, .copy: break
        case .recovery: return !record.facts.details.isEmpty
        case .export, .delete, .undelete, .rename, .sync, .deviceSync, .photoUpload, .mount, .unmount: return false
        }
        guard record.result != .skipped else { return false }
        switch record.facts.error {
        case .busy, .locked, .usage: return false
        default: return true
        }
    }

    /// The rows above the text: what it is, and its value.
    var rows: [(label: Message, value: Message)] {
        let facts = record.facts
        let kind: Message = record.isAutomatic ? "\(record.operation.rawValue) (automatic)" : .verbatim(record.operation.rawValue)
        let seconds = DurationText.precise(milliseconds: record.durationMilliseconds)
        var rows: [(label: Message, value: Message)] = [
            ("Operation", kind), ("Started", SystemClock.localTime(record.startedAt)), ("Duration", .verbatim(seconds)),
            ("Result", .verbatim(record.resultText)),
        ]
        func add(_ label: Message, _ value: String?) { if let value { rows.append((label, .verbatim(value))) } }
        add("Backup", facts.snapshot.map { MessageText.shortened($0, limit: MessageText.nameLimit) })
        add("Safety backup", facts.safetyBackup.map { MessageText.shortened($0, limit: MessageText.nameLimit) })
        add("Strategy", facts.strategy)
        add("Records", facts.recordCount.map { String($0) })
        add("Files", facts.fileCount.map { String($0) })
        add("Unreadable files", facts.unreadableCount.map { String($0) })
        add("Size", facts.sizeBytes.map { ByteCount.text($0) })
        add("New", facts.storedByteCount.map { ByteCount.text($0) })
        add("Freed", facts.freedByteCount.map { ByteCount.text($0) })
        add("Removed", facts.removedCount.map { String($0) })
        add("Remote", facts.remote)
        return rows
    }

    /// For people: the rows, and what the operation reported.
    func plainText(in language: Language) -> [UInt8] {
        let rows = rows.map { (label: language.text($0.label) + ":", value: language.text($0.value)) }
        let width = (rows.map(\.label.count).max() ?? 0) + 2
        let table = rows.map { $0.label + String(repeating: " ", count: width - $0.label.count) + $0.value }
        return Array(((table + (text.isEmpty ? [] : ["", text])).joined(separator: "\n") + "\n").utf8)
    }
}
