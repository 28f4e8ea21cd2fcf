import AppData
import BackupCore
import Export

/// The records of an export, with the restored paths of their files.
struct PlacedRecords: RecordSource, Sendable {
    let source: WireReader
    /// By the keys of the records.
    var paths: [FieldValue: [UInt8]] = [:]

    var definition: AppDefinition { source.definition }

    func visit(with visitor: any RecordVisitor) throws(BackupError) {
        guard !paths.isEmpty, let pointer = MediaPointer(definition) else { return try source.visit(with: visitor) }
        try source.visit(
            with: PlacingVisitor(visitor, paths, pointer, keyIndex: definition.collections[pointer.collection].keyIndex))
    }
}

/// Forwards records with the new paths written into them.
private final class PlacingVisitor: RecordVisitor {
    private let next: any RecordVisitor
    private let paths: [FieldValue: [UInt8]]
    private let pointer: MediaPointer
    private let keyIndex: Int

    init(_ next: any RecordVisitor, _ paths: [FieldValue: [UInt8]], _ pointer: MediaPointer, keyIndex: Int) {
        self.next = next
        self.paths = paths
        self.pointer = pointer
        self.keyIndex = keyIndex
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { try next.visit(metadata: metadata) }
    func visit(settings: RecordBuffer) throws(BackupError) { try next.visit(settings: settings) }
    func beginCollection(_ collection: Int) throws(BackupError) { try next.beginCollection(collection) }
    func visit(unknownField path: String) throws(BackupError) { try next.visit(unknownField: path) }
    func visit(misplaced message: Message) throws(BackupError) { try next.visit(misplaced: message) }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        if collection == pointer.collection, pointer.hasFile(record), let path = paths[record.value(keyIndex)] {
            path.withUnsafeBytes { record.set(pointer.field, .text, bytes: $0) }
        }
        try next.visit(record: record, of: collection)
    }
}
