import BackupCore

/// The second pass over the file: adds, updates or skips each record. By now the key of each record in the database is known, for all collections.
final class MergeWriter: RecordVisitor {
    private struct Plan {
        /// Fields that refer to records whose database keys may differ from those in the file.
        let references: [(index: Int, collection: Int, mayDangle: Bool)]
        let mediaFields: [Int]
        /// Whether existing records stay unchanged.
        let keepsFound: Bool
        let updater: RecordUpdater
    }

    private let indices: [MergeIndex]
    private let inserter: RecordInserter
    private let mediaNames: MediaNames?
    private let plans: [Plan]
    private let takesObjects: Bool
    private let takesSettings: Bool
    private let key = RecordBuffer(fieldCount: 1)
    private let reference = RecordBuffer(fieldCount: 1)
    private(set) var outcome: ImportOutcome

    /// - Parameter outcome: with the counts so far.
    init(
        _ outcome: ImportOutcome, _ indices: [MergeIndex], _ inserter: RecordInserter, definition: AppDefinition,
        instructions: ImportInstructions, isFileOlder: Bool, connection: OpaquePointer?, path: String
    ) throws(BackupError) {
        self.outcome = outcome
        self.indices = indices
        self.inserter = inserter
        mediaNames = instructions.mediaNames
        var plans: [Plan] = []
        for collection in definition.collections {
            plans.append(
                Plan(
                    references: collection.fields.indices.compactMap { index in
                        guard index != collection.keyIndex, let reference = collection.fields[index].reference,
                            reference.mayDangle || indices[reference.collection].hasNewKeys
                        else { return nil }
                        return (index, reference.collection, reference.mayDangle)
                    },
                    mediaFields: collection.fields.indices.filter { collection.fields[$0].isMedia },
                    keepsFound: outcome.strategy == .skip || outcome.strategy == .merge && collection.rules.onMerge == .keep,
                    updater: try RecordUpdater(collection, isFileOlder: isFileOlder, connection: connection, path: path)))
        }
        self.plans = plans
        takesObjects = outcome.strategy == .replace
        takesSettings = instructions.takesSettings(definition)
    }

    func visit(metadata: RecordBuffer) throws(BackupError) { if takesObjects { try inserter.visit(metadata: metadata) } }

    func visit(settings: RecordBuffer) throws(BackupError) { if takesSettings { try inserter.visit(settings: settings) } }

    func visit(record: RecordBuffer, of collection: Int) throws(BackupError) {
        try inserter.check(record, of: collection)
        let plan = plans[collection]
        let description = indices[collection].collection
        let isFound = try indices[collection].find(record, description.keyIndex, into: key)
        let isSkipped = isFound && plan.keepsFound
        if let mediaNames, !mediaNames.isEmpty { rename(record, plan.mediaFields, mediaNames, isSkipped: isSkipped) }
        if isSkipped {
            outcome.collections[collection].skipped += 1
            return
        }
        for (index, target, mayDangle) in plan.references where !record.isNullOrMissing(index) {
            if mayDangle, try !indices[target].hasRecord(record, index) {
                // It must not become a reference to a record that happens to have that key here.
                if try indices[target].isTaken(record, index) { record.setNull(index) }
                continue
            }
            _ = try indices[target].find(record, index, into: reference)
            record.set(index, reference.value(0))
        }
        if !isFound {
            record.set(description.keyIndex, key.value(0))
            try inserter.visit(record: record, of: collection)
            outcome.collections[collection].added += 1
        } else if try plan.updater.update(key, to: record) {
            outcome.collections[collection].updated += 1
            if outcome.strategy == .merge, let note = description.rules.note { outcome.note(note.text(of: record)) }
        } else {
            outcome.collections[collection].skipped += 1
        }
    }

    func visit(misplaced message: Message) throws(BackupError) { try inserter.visit(misplaced: message) }

    private func rename(_ record: RecordBuffer, _ fields: [Int], _ names: MediaNames, isSkipped: Bool) {
        for index in fields where record.kind(index) == .text {
            guard let renamed = names.renamed(record.bytes(index)) else { continue }
            names.note(renamed.path, isSkipped: isSkipped)
            record.set(index, .text(renamed.value))
        }
    }
}
