import BackupCore

/// The first pass over the file: collects its records' keys and identities, for all collections.
final class MergeStaging: RecordVisitor {
    private let indices: [MergeIndex]
    private let inserter: RecordInserter
    private let mediaFields: [[Int]]
    private let mediaNames: MediaNames?

    /// - Parameter inserter: checks whether values have their fields' kinds.
    init(_ indices: [MergeIndex], inserter: RecordInserter, mediaNames: MediaNames?) {
        self.indices = indices
        self.inserter = inserter
        self.mediaNames = mediaNames
        mediaFields = indices.map { index in index.collection.fields.indices.filter { index.collection.fields[$0].isMedia } }
    }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        try inserter.check(record, of: collection)
        if let mediaNames, !mediaNames.isEmpty {
            // A photo with other content is another photo, regardless of its name.
            for index in mediaFields[collection] where record.kind(index) == .text {
                if let renamed = mediaNames.renamed(record.bytes(index)) { record.set(index, .text(renamed.value)) }
            }
        }
        try indices[collection].add(record)
    }

    func visit(misplaced message: Message) throws(BackupError) { try inserter.visit(misplaced: message) }
}
