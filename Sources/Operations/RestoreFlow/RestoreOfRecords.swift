import AppData
import BackupCore
import BackupRepository
import Formats
import Restore
import SnapshotFormats
import SystemIO

/// Files with some records of one collection: a restore merges them into the data by their keys, and leaves all others alone.
extension RestoreRunner {
    /// Detects such a file: what `history/` shows of a record, or the array of a collection (`data/COLLECTION.json`). An array
    /// is equal to one of a backup, or has the name of its collection.
    /// - Returns: any other source as it is.
    /// - Throws: `invalidContent` for a file with single records that is not in order.
    public func withRecords(_ source: ImportSource) throws(BackupError) -> ImportSource {
        guard source.recordFile == nil, source.archiveLayout == nil else { return source }
        // An export of such an app could look like a file with single records.
        let names = store.definition.formats.flatMap(\.collections).map(\.name)
        guard !names.contains(RecordFile.recordsName) else { return source }
        var source = source
        source.recordFile = try RecordFile(source.bytes)
        guard source.recordFile == nil, let array = try RecordFile.arrayRange(of: source.bytes) else { return source }
        if let file = try storedCollection(equalTo: source, array) {
            source = source.asOwn
            source.recordFile = file
        } else {
            source.recordFile = namedCollection(source, array)
        }
        return source
    }

    /// Whether the file is, byte by byte, what `history/` shows of a record: the app's own values must be restorable, whatever
    /// they are.
    func isOwnRecord(_ source: ImportSource) -> Bool {
        guard let file = source.recordFile, source.sizeBytes <= Self.ownRecordLimitBytes,
            let bytes = try? source.bytes.bytes(at: 0, upTo: Int(source.sizeBytes)),
            let record = try? RecordSearch(
                file.records(of: source.bytes), sizeBytes: file.recordsSizeBytes,
                key: store.definition.keyName(ofCollection: file.collection) ?? "id"
            ).keys(limit: 1), let key = record.keys.first, let name = RecordName.of(key)
        else { return false }
        let histories = RecordHistories(of: store)
        let history = try? histories.history(of: name, in: FileName(file.collection), store.ownSnapshots(kind: .snapshot))
        return history?.states.contains { state in
            state.file.size == source.sizeBytes && (try? store.repository.readAll(state.file)) == bytes
        } ?? false
    }

    private static let ownRecordLimitBytes: UInt64 = 16 << 20

    /// Which strategy applies: they are never what all data is replaced by.
    /// - Throws: `notSupported` for `replace`.
    func chosen(forRecordsOf source: ImportSource, _ strategy: ImportStrategy?) throws(BackupError) -> ImportStrategy {
        guard strategy == .replace else { return strategy ?? .merge }
        throw BackupError(
            .notSupported, "the file has only single records, and cannot replace all data", path: source.name,
            remedy: "Restore it with the strategy merge or skip.")
    }

    private func namedCollection(_ source: ImportSource, _ array: Range<UInt64>) -> RecordFile? {
        let suffix = RenderedFiles.collectionSuffix
        let names = store.definition.formats.flatMap(\.collections).map(\.name)
        return names.first { "\($0)\(suffix)".utf8.elementsEqual(source.name.utf8) }.map {
            RecordFile(arrayOf: $0, at: array)
        }
    }

    /// - Returns: with the schema version of the newest backup with this array; `nil` when no backup has it.
    private func storedCollection(
        equalTo source: ImportSource, _ array: Range<UInt64>
    ) throws(BackupError) -> RecordFile? {
        try store.repository.refresh()
        var equal: [FileContent: Bool] = [:]
        var found: (name: String, version: Int?)?
        var inexactCount = 0
        for snapshot in store.repository.snapshots().reversed() where store.owns(snapshot) {
            guard let entries = try? StoredCollections(of: snapshot, in: store.repository).entries else { continue }
            for entry in entries where entry.size == source.sizeBytes {
                let isEqual = equal[entry.content] ?? ownFiles.isFile(entry.content, source)
                equal[entry.content] = isEqual
                let name = StoredCollections.name(of: entry)
                // Two collections can have the same array, an empty one.
                guard isEqual, found == nil || found?.name == name else { continue }
                found = found ?? (name, snapshot.schemaVersion)
                inexactCount = max(inexactCount, InexactValues(of: snapshot)?.count ?? 0)
            }
        }
        return found.map {
            RecordFile(arrayOf: $0.name, at: array, schemaVersion: $0.version, inexactValueCount: inexactCount)
        }
    }
}
