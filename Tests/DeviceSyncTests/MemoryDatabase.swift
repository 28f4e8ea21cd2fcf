import AppData
import BackupCore
import SystemIO

@testable import DeviceSync

/// An app's records in memory: notes with a text. It remembers what the app itself has written, and what a merge has replaced.
final class MemoryDatabase: SyncedDatabase {
    typealias Records = [String: String]

    static let form = RecordForm(
        app: "notes", schemaVersion: 1,
        collections: [RecordForm.Collection(name: "notes", fields: ["id", "text"], keyIndex: 0)])

    var form = MemoryDatabase.form
    private(set) var records: Records = [:]
    /// Texts that the app itself has replaced or deleted.
    private(set) var replacedByApp: Set<String> = []
    /// Texts that a merge has replaced or deleted.
    private(set) var replacedByMerge: Set<String> = []
    /// Keys that the app had deleted and a merge has brought back.
    private(set) var broughtBack: Set<String> = []
    private var deletedByApp: Set<String> = []
    /// Called when a merge has begun to wait for the write lock: the app writes once more.
    var beforeWriting: (() -> Void)?

    /// - Parameter isKnown: whether the device has seen the record, so that it can see its deletion.
    func appSets(_ key: String, _ text: String?, isKnown: Bool = true) {
        if let old = records[key] { replacedByApp.insert(old) }
        if text != nil { deletedByApp.remove(key) } else if records[key] != nil, isKnown { deletedByApp.insert(key) }
        records[key] = text
    }

    func read<Result>(_ body: (any RecordReading) throws(BackupError) -> Result) throws(BackupError) -> Result {
        try body(Session(records, form))
    }

    func write<Result>(_ body: (any RecordWriting) throws(BackupError) -> Result) throws(BackupError) -> Result {
        beforeWriting?()
        let session = Session(records, form)
        let result = try body(session)
        for (key, text) in records where session.records[key] != text { replacedByMerge.insert(text) }
        for key in session.records.keys where records[key] == nil && deletedByApp.contains(key) { broughtBack.insert(key) }
        for key in session.written { deletedByApp.remove(key) }
        records = session.records
        return result
    }

    final class Session: RecordWriting {
        let form: RecordForm
        private(set) var records: Records
        private(set) var written: Set<String> = []

        init(_ records: Records, _ form: RecordForm) {
            self.records = records
            self.form = form
        }

        func forEachRecord(
            of collection: Int, _ body: ([FieldValue]) throws(BackupError) -> Void
        ) throws(BackupError) {
            for (key, text) in records.sorted(by: { $0.key < $1.key }) { try body([.text(key), .text(text)]) }
        }

        func record(of collection: Int, key: FieldValue) throws(BackupError) -> [FieldValue]? {
            key.string.flatMap { records[$0] }.map { [key, .text($0)] }
        }

        func problem(with values: [FieldValue], in collection: Int) -> Message? {
            values[1] == .text("invalid") ? "the text is not valid" : nil
        }

        func put(_ values: [FieldValue], in collection: Int) throws(BackupError) {
            guard let key = values[0].string else { return }
            records[key] = values[1].string
            written.insert(key)
        }

        func remove(key: FieldValue, from collection: Int) throws(BackupError) {
            guard let key = key.string else { return }
            records[key] = nil
            written.insert(key)
        }
    }
}

/// Conflicts in memory.
final class ListedConflicts: ConflictKeeper {
    private(set) var kept: [RecordConflict] = []

    var texts: Set<String> { Set(kept.compactMap { $0.values[1].string }) }

    func keep(_ conflict: RecordConflict) throws(BackupError) -> Bool {
        guard !kept.contains(conflict) else { return false }
        kept.append(conflict)
        return true
    }
}
