import AppData
import BackupCore

/// Collects the export's entries for its media files.
final class ManifestVisitor: RecordVisitor {
    private let definition: AppDefinition
    private(set) var entries: [ManifestEntry] = []
    /// Whether each file is a record: then a listed file that is not in the archive counts as missing.
    private(set) var listsAllFiles = false

    init(_ definition: AppDefinition) { self.definition = definition }

    func beginCollection(_ collection: Int) {
        if definition.collections[collection].source == .files { listsAllFiles = true }
    }

    func visit(record: RecordBuffer, of index: Int) throws(BackupError) {
        let collection = definition.collections[index]
        guard collection.source != .table else { return }
        func value(_ wanted: MediaValue) -> FieldValue? {
            collection.fields.firstIndex { $0.mediaValue == wanted }.map { record.value($0) }
        }
        func bytes(_ wanted: MediaValue) -> [UInt8]? {
            guard case .text(let bytes)? = value(wanted) else { return nil }
            return bytes
        }
        var size: UInt64?
        if case .integer(let number)? = value(.size) { size = UInt64(exactly: number) }
        let key = record.value(collection.keyIndex)
        let label = "\(collection.singular) \(key.messageText)"
        switch collection.source {
        case .table: return
        case .files:
            guard let path = bytes(.path) else { return }
            let archivePath = definition.archiveLayout.archivePath(of: Array("media/".utf8) + path) ?? path
            entries.append(
                ManifestEntry(
                    key: key, label: label, recordPath: path, archivePath: archivePath, sizeBytes: size,
                    md5: value(.md5)?.string, sha256: value(.sha256)?.string))
        case .manifest:
            guard let recordPath = bytes(.recordPath), let archivePath = bytes(.archivePath) else { return }
            entries.append(
                ManifestEntry(
                    key: value(.recordKey) ?? key, label: label, recordPath: recordPath, archivePath: archivePath,
                    sizeBytes: size, md5: value(.md5)?.string, sha256: value(.sha256)?.string))
        }
    }
}
