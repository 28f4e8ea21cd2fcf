import BackupCore
import BackupRepository
import Formats
import SystemIO

/// `changes.txt` of a record: what happened to it, backup by backup.
struct RecordHistoryText {
    /// Further changed members are counted.
    private static let shownFieldCount = 100

    private let language: Language
    private let isComplete: Bool
    private var lines: [String] = []

    /// - Parameter isComplete: whether no older backup is missing.
    init(language: Language, isComplete: Bool) {
        self.language = language
        self.isComplete = isComplete
    }

    var text: [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    /// - Parameters:
    ///   - old, new: the content of the record before and now; `nil` where there is none.
    ///   - isOldest: whether there is no backup before this one.
    mutating func append(_ snapshot: Snapshot, from old: [UInt8]?, to new: [UInt8]?, isOldest: Bool) {
        let what: Message
        var fields: [FieldChange] = []
        switch (old, new) {
        case (nil, _?): what = !isOldest ? "added" : isComplete ? "in the oldest backup" : "in the oldest backup that can be read"
        case (_?, nil): what = "removed"
        case (let old?, let new?):
            what = "changed"
            fields = RecordDetails.changes(from: old, to: new)
        case (nil, nil): return
        }
        let stamp = snapshot.stamp
        let name = snapshot.name.description
        lines.append("\(stamp)  \(language.text(what))" + (name == stamp ? "" : "  (\(MessageText.name(snapshot.name.bytes)))"))
        if old != nil, new != nil, fields.isEmpty { lines.append("    " + language.text("only the order of its members")) }
        for field in fields.prefix(Self.shownFieldCount) { lines.append("    " + language.text(field.text)) }
        let rest = fields.count - Self.shownFieldCount
        if rest > 0 { lines.append("    " + language.text("… and \(rest) more")) }
    }
}
