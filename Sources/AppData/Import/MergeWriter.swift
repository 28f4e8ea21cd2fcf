import BackupCore
import SQLite

/// The second pass over the file: adds, updates or skips each record. By now the key of each record in the database is known, for
/// all collections.
final class MergeWriter: RecordVisitor {
    private struct Plan {
        /// Fields that refer to records whose database keys may differ from those in the file.
        let references: [(index: Int, collection: Int, mayDangle: Bool)]
        let mediaFields: [Int]
        /// References of a part of the data to records that must be in the file or in the database.
        let requiredReferences: [(index: Int, collection: Int)]
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
        instructions: ImportInstructions, isFileOlder: Bool, connection: DatabaseConnection
    ) throws(BackupError) {
        self.outcome = outcome
        self.indices = indices
        self.inserter = inserter
        mediaNames = instructions.mediaNames
        let isPart = instructions.isPart
        // The database may treat keys as equal that differ in their bytes.
        if isPart, let index = indices.first(where: \.hasNewKeys) {
            throw BackupError(
                .invalidContent,
                "Import failed: the database takes the key of one of the \(index.collection.plural) for that of another record",
                path: connection.path, remedy: "Change the key of that record in the app first.")
        }
        var plans: [Plan] = []
        for collection in definition.collections {
            plans.append(
                Plan(
                    references: collection.fields.indices.compactMap { index in
                        // The keys in a part are those in the database.
                        guard !isPart, index != collection.keyIndex, let reference = collection.fields[index].reference,
                            reference.mayDangle || indices[reference.collection].hasNewKeys
                        else { return nil }
                        return (index, reference.collection, reference.mayDangle)
                    },
                    mediaFields: collection.fields.indices.filter { collection.fields[$0].isMedia },
                    requiredReferences: isPart ? Self.requiredReferences(collection) : [],
                    keepsFound: outcome.strategy == .skip || outcome.strategy == .merge && collection.rules.onMerge == .keep,
                    updater: try RecordUpdater(collection, isFileOlder: isFileOlder, connection: connection)))
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
        for (index, target) in plan.requiredReferences where !record.isNullOrMissing(index) {
            if isFound, try plan.updater.isUnchanged(key, record, index) { continue }
            guard try !indices[target].isTaken(record, index),
                try plan.updater.isMissing(record, index, in: indices[target].collection)
            else { continue }
            throw missing(target, record, index, of: description)
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

    private static func requiredReferences(_ collection: CollectionDefinition) -> [(index: Int, collection: Int)] {
        collection.fields.indices.compactMap { index in
            collection.fields[index].reference.flatMap { $0.mayDangle ? nil : (index, $0.collection) }
        }
    }

    private func missing(
        _ target: Int, _ record: RecordBuffer, _ index: Int, of collection: CollectionDefinition
    ) -> BackupError {
        let singular = indices[target].collection.singular
        return BackupError(
            .invalidContent,
            """
            Import failed: \(collection.singular) \(record.value(collection.keyIndex).messageText) refers to the \(singular) \
            \(record.value(index).messageText), which is not in the database
            """,
            remedy: "Restore the \(singular) first.")
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

/// Updates a record of one collection, and writes only the columns that differ.
final class RecordUpdater {
    /// The number of prepared statements to keep, one for each set of columns.
    private static let statementLimit = 64

    private let connection: DatabaseConnection
    private let collection: CollectionDefinition
    private let selection: DatabaseStatement
    private let present: RecordBuffer
    /// Whether members missing from the file may have been unknown to it.
    private let isFileOlder: Bool
    private var statements: [UInt64: DatabaseStatement] = [:]

    init(_ collection: CollectionDefinition, isFileOlder: Bool, connection: DatabaseConnection) throws(BackupError) {
        self.connection = connection
        self.collection = collection
        self.isFileOlder = isFileOlder
        let columns = collection.fields.map { quotedIdentifier($0.column) }.joined(separator: ", ")
        selection = try connection.statement(
            "SELECT \(columns) FROM \(quotedIdentifier(collection.table)) WHERE \(Self.condition(collection, 1))")
        present = RecordBuffer(fieldCount: collection.fields.count)
    }

    /// The row with exactly this key: the column may treat texts as equal that differ in their bytes.
    private static func condition(_ collection: CollectionDefinition, _ parameter: Int) -> String {
        let column = quotedIdentifier(collection.keyField.column)
        return "\(column) = ?\(parameter) AND \(column) = ?\(parameter) COLLATE BINARY"
    }

    /// - Parameters:
    ///   - key: the record's key in the database, in field 0.
    ///   - record: the new values; its own key is ignored.
    /// - Returns: whether any differed.
    func update(_ key: RecordBuffer, to record: RecordBuffer) throws(BackupError) -> Bool {
        try read(key)
        var differing: UInt64 = 0
        for index in collection.fields.indices where index != collection.keyIndex && !isSame(record, index) {
            differing |= 1 << UInt64(index)
        }
        guard differing != 0 else { return false }
        let statement = try statement(for: differing)
        for index in collection.fields.indices where differing & 1 << UInt64(index) != 0 {
            try RecordInserter.bind(record, index, to: Int32(index + 1), of: statement)
        }
        try RecordInserter.bind(key, 0, to: Int32(collection.fields.count + 1), of: statement)
        try statement.run()
        guard connection.changedRowCount == 1 else { throw lost(key) }
        return true
    }

    /// - Parameter key: of a record that is there.
    func isUnchanged(_ key: RecordBuffer, _ record: RecordBuffer, _ index: Int) throws(BackupError) -> Bool {
        try read(key)
        return isSame(record, index)
    }

    /// Whether the database has no record with the key in a field, also none that it considers the same.
    func isMissing(
        _ record: RecordBuffer, _ index: Int, in target: CollectionDefinition
    ) throws(BackupError) -> Bool {
        let statement = try connection.statement(
            "SELECT 1 FROM \(quotedIdentifier(target.table)) WHERE \(quotedIdentifier(target.keyField.column)) = ?1")
        try RecordInserter.bind(record, index, to: 1, of: statement)
        return try !statement.step()
    }

    private func read(_ key: RecordBuffer) throws(BackupError) {
        try RecordInserter.bind(key, 0, to: 1, of: selection)
        defer { selection.reset() }
        guard try selection.step() else { throw lost(key) }
        present.clear()
        for (index, field) in collection.fields.enumerated() {
            DatabaseRecordReader.read(selection, Int32(index), field.type, into: present, index)
        }
    }

    /// Compares exactly, bit by bit. A missing member means null where exports omit nulls; elsewhere it is ignored.
    private func isSame(_ record: RecordBuffer, _ index: Int) -> Bool {
        switch (record.kind(index), present.kind(index)) {
        case (.missing, _) where isFileOlder || !collection.fields[index].isNullable: true
        case (.missing, .null), (.null, .null): true
        case (.integer, .integer): record.integer(index) == present.integer(index)
        case (.boolean, .boolean): record.boolean(index) == present.boolean(index)
        case (.real, .real): record.real(index).bitPattern == present.real(index).bitPattern
        case (.text, .text), (.blob, .blob): record.bytes(index).elementsEqual(present.bytes(index))
        default: false
        }
    }

    private func statement(for differing: UInt64) throws(BackupError) -> DatabaseStatement {
        if let known = statements[differing] { return known }
        if statements.count >= Self.statementLimit { statements.removeAll() }
        let changes = collection.fields.indices.filter { differing & 1 << UInt64($0) != 0 }.map { index in
            "\(quotedIdentifier(collection.fields[index].column)) = ?\(index + 1)"
        }
        let statement = try connection.statement(
            "UPDATE \(quotedIdentifier(collection.table)) SET \(changes.joined(separator: ", ")) "
                + "WHERE \(Self.condition(collection, collection.fields.count + 1))")
        statements[differing] = statement
        return statement
    }

    private func lost(_ key: RecordBuffer) -> BackupError {
        BackupError(
            .invalidContent,
            "Import failed: the \(collection.singular) \(key.value(0).messageText) could not be updated",
            path: connection.path)
    }
}

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

/// The new names of an archive's media files whose names other files have, and which of those files are needed. Paths are
/// relative to the media folder. For one thread.
public final class MediaNames {
    private static let slash = UInt8(ascii: "/")

    private let newPaths: [[UInt8]: [UInt8]]
    /// Renamed files that a record which is not skipped names.
    private var wanted: Set<[UInt8]> = []
    private var skipped: Set<[UInt8]> = []

    /// - Parameter newPaths: for each renamed file: its path in the archive and its new one.
    public init(newPaths: [[UInt8]: [UInt8]]) { self.newPaths = newPaths }

    var isEmpty: Bool { newPaths.isEmpty }

    /// Whether only skipped records name the file: then their existing records do not need a second version of it.
    public func isNamedBySkippedRecordsOnly(_ path: [UInt8]) -> Bool { skipped.contains(path) && !wanted.contains(path) }

    func note(_ path: [UInt8], isSkipped: Bool) {
        if isSkipped { skipped.insert(path) } else { wanted.insert(path) }
    }

    /// - Parameter value: a path relative to the media folder, or a path of another machine that ends with one.
    /// - Returns: the archive path of the file that it names, and the value with the new name; `nil` when it does not name a
    ///   renamed file.
    func renamed(_ value: UnsafeRawBufferPointer) -> (path: [UInt8], value: [UInt8])? {
        guard !newPaths.isEmpty else { return nil }
        var start = 0
        while true {
            let path = Array(value[start...])
            if let newPath = newPaths[path] { return (path, Array(value[..<start]) + newPath) }
            guard let next = value[start...].firstIndex(of: Self.slash) else { return nil }
            start = next + 1
        }
    }

    /// The part of a value that identifies a file: the relative path, or, for a path of a device, its last component.
    static func identifyingPart(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let isForeign = value.first == slash || value.firstRange(of: Array("://".utf8)) != nil
        guard isForeign, let last = value.lastIndex(of: slash) else { return value }
        return UnsafeRawBufferPointer(rebasing: value[(last + 1)...])
    }
}
