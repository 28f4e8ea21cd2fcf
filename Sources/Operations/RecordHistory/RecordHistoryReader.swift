import BackupCore
import BackupRepository
import Formats
import SnapshotFormats
import SystemIO

/// Finds the states of one record, backup by backup, oldest first.
struct RecordHistoryReader {
    private let collection: String
    private let key: JSONKey
    private let store: Store
    private var states: [RecordHistory.State] = []
    private var text: RecordHistoryText
    private var changedAt: Timestamp?
    /// The newest known state; `nil` before the first backup.
    private var last: (found: RecordSearch.Found?, content: FileContent?)?
    /// Whether a backup since then could not be read.
    private var hasGap = false
    var failures: [(backup: FileName, error: BackupError)] = []

    /// - Parameter isComplete: whether all backups can be read.
    init(_ collection: String, _ key: JSONKey, of store: Store, isComplete: Bool) {
        self.collection = collection
        self.key = key
        self.store = store
        text = RecordHistoryText(language: store.language, isComplete: isComplete)
    }

    /// - Parameters:
    ///   - mayDiffer: whether the record may be another one than in the backup before.
    ///   - find: the record in a collection.
    mutating func pass(
        _ backup: RecordLine.Backup, mayDiffer: Bool,
        _ find: (FileContent) throws(BackupError) -> RecordSearch.Found?
    ) throws(BackupError) {
        let content = backup.collections[collection]
        if let last, !hasGap, !mayDiffer || last.content == content {
            self.last = (last.found, content)
            return
        }
        let found: RecordSearch.Found?
        do throws(BackupError) {
            found = if let content { try find(content) } else { nil }
        } catch {
            guard error.code == .repositoryDamaged || error.code == .damagedContent else { throw error }
            failures.append((backup.snapshot.name, error))
            hasGap = true
            return
        }
        hasGap = false
        let before = last
        last = (found, content)
        guard before?.found?.content != found?.content else { return }
        changedAt = backup.snapshot.creationTime
        text.append(backup.snapshot, from: before?.found?.content, to: found?.content, isOldest: before == nil)
        guard let found, let content else { return }
        states.append(RecordHistory.State(snapshot: backup.snapshot, file: file(found, content, backup.snapshot)))
    }

    private func file(_ found: RecordSearch.Found, _ content: FileContent, _ snapshot: Snapshot) -> ExtentTable {
        let around = RecordFile.text(
            around: collection, app: store.definition.name, schemaVersion: snapshot.schemaVersion,
            inexactValueCount: InexactValues(of: snapshot)?.count ?? 0)
        var table = ExtentTable(literal: around.before)
        let length = found.range.upperBound - found.range.lowerBound
        let source = StoredRangeSource(content, in: store.repository)
        table.append(Extent.source(source, offset: found.range.lowerBound, length: length))
        table.append(Extent.literal(around.after))
        return table
    }

    /// - Returns: `nil` if no backup has the record.
    /// - Throws: why a backup could not be read, where the others do not have it.
    func history() throws(BackupError) -> RecordHistory? {
        guard !states.isEmpty, let changedAt else {
            if let failure = failures.first { throw failure.error }
            return nil
        }
        return RecordHistory(
            states: states, changes: text.text, modificationTime: changedAt, failures: failures)
    }
}
