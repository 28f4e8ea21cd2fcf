import BackupCore
import SystemIO

/// Fully validates a source of records before any data is changed. Makes one pass over it; the keys of its records bound the
/// memory use.
public struct ImportValidator: Sendable {
    /// The number of findings after which it stops.
    public static let findingLimit = 100

    /// The longest text in the metadata of a foreign file. Backups repeat the metadata in many places.
    public static let metadataTextLimitBytes = 1 << 20

    public let definition: AppDefinition
    /// The reference for "in the future".
    public let now: Timestamp
    private let limitsMetadata: Bool
    private let acceptsValues: Bool
    private let partVersion: Int?

    /// - Parameters:
    ///   - limitsMetadata: false for data that this program exported from the app: it must be restorable, whatever it contains.
    ///   - acceptsValues: whether values that the definition does not allow are only a warning: the app's own rows, which are
    ///     copied.
    ///   - partVersion: the schema version of a source that has only some records, and nothing else: the records to which they
    ///     refer are in the database, and are looked for when they are written. `nil` for a whole export.
    public init(
        definition: AppDefinition, now: Timestamp = SystemClock.now(), limitsMetadata: Bool = true, acceptsValues: Bool = false,
        partVersion: Int? = nil
    ) {
        self.partVersion = partVersion
        self.acceptsValues = acceptsValues
        self.definition = definition
        self.now = now
        self.limitsMetadata = limitsMetadata
    }

    /// - Throws: `invalidContent`; its message is "Import failed: " and the first finding, its findings are all of them;
    ///   `unsupportedVersion` for an unreadable schema version; errors of a source that cannot be read at all.
    public func validate(_ source: some RecordSource) throws(BackupError) -> ImportSummary {
        let visitor = ValidationVisitor(
            definition: definition, now: now, metadataTextLimitBytes: limitsMetadata ? Self.metadataTextLimitBytes : .max,
            acceptsValues: acceptsValues, partVersion: partVersion)
        try source.visit(with: visitor)
        return try visitor.finish()
    }
}

/// Collects findings, counts and keys in one pass over the records.
final class ValidationVisitor: RecordVisitor {
    // This is the hot path of every record, and a number in an array inside a class pays for exclusivity checks.
    private final class Counter { var value = 0 }

    private let definition: AppDefinition
    private let checker: FieldChecker
    private let metadataTextLimitBytes: Int
    private let plans: [ValidationPlan]
    private var findings: [Message] = []
    private var isIncompatible = false
    private var warnings: [Message] = []
    private var schemaVersion: Int?
    private var createdAt: Timestamp?
    private var metadataTexts: [String: String] = [:]
    private var hasMetadata = false
    private var hasSettings = false
    private var isPresent: [Bool]
    /// Whether all of a collection's records have been read.
    private var isComplete: [Bool]
    private var currentCollection: Int?
    private let counts: [Counter]
    private let keys: [KeySet]
    /// For each collection: referenced keys that have not been seen yet, with the first record that refers to each.
    private var pendingReferences: [[FieldValue: RecordLabel]]
    private var isReported: [Set<FieldValue>]
    private var earliest: Timestamp?
    private var latest: Timestamp?
    private var unknownFields: [String: Int] = [:]
    private var unknownFieldCount = 0
    private var missingColumns: Set<String> = []
    private let acceptsValues: Bool
    private let isPart: Bool
    private var accepted: [Message] = []
    private var acceptedCount = 0

    init(
        definition: AppDefinition, now: Timestamp, metadataTextLimitBytes: Int, acceptsValues: Bool = false,
        partVersion: Int? = nil
    ) {
        self.acceptsValues = acceptsValues
        isPart = partVersion != nil
        schemaVersion = partVersion
        self.definition = definition
        self.metadataTextLimitBytes = metadataTextLimitBytes
        checker = FieldChecker(now: now)
        plans = definition.collections.map { ValidationPlan($0, now: now) }
        let count = definition.collections.count
        isPresent = Array(repeating: false, count: count)
        isComplete = isPresent
        counts = (0..<count).map { _ in Counter() }
        keys = (0..<count).map { _ in KeySet() }
        pendingReferences = Array(repeating: [:], count: count)
        isReported = Array(repeating: [], count: count)
    }

    private func add(_ finding: Message) throws(BackupError) {
        if acceptsValues, !isIncompatible {
            acceptedCount += 1
            if accepted.count < Self.shownAcceptedCount { accepted.append(finding) }
            return
        }
        findings.append(finding)
        if findings.count >= ImportValidator.findingLimit { throw failure() }
    }

    private static let shownAcceptedCount = 5

    private func failure() -> BackupError {
        if isIncompatible {
            return BackupError(.unsupportedVersion, ImportMessages.incompatibleVersion, findings: findings)
        }
        return BackupError(.invalidContent, ImportMessages.failure(findings.first ?? "unknown reason"), findings: findings)
    }

    // MARK: Objects

    func visit(metadata: RecordBuffer) throws(BackupError) {
        if isPart { return }
        hasMetadata = true
        for (index, field) in definition.metadata.fields.enumerated() {
            if field.source == .schemaVersion {
                try check(schemaVersion: metadata, index, field)
                continue
            }
            try check(metadata, index, field, of: definition.metadata)
            if field.source == .creationTime { createdAt = metadata.time(index, as: field.type) }
            guard let text = metadata.string(index) else { continue }
            if text.utf8.count > metadataTextLimitBytes {
                try add(
                    "\(definition.metadata.path(of: field)) has \(text.utf8.count) bytes, more than \(metadataTextLimitBytes)")
            }
            metadataTexts[field.name] = text
        }
    }

    func visit(settings: RecordBuffer) throws(BackupError) {
        guard let object = definition.settings else { return }
        hasSettings = true
        for (index, field) in object.fields.enumerated() { try check(settings, index, field, of: object) }
    }

    private func check(
        _ buffer: RecordBuffer, _ index: Int, _ field: FieldDefinition, of object: ObjectDefinition
    ) throws(BackupError) {
        if buffer.kind(index) == .missing {
            if !field.mayBeMissing { try add("missing field \(object.path(of: field))") }
        } else if let problem = checker.problem(buffer, index, field) {
            try add(object.isInline ? problem : "\(object.name): \(problem)")
        }
    }

    private func check(schemaVersion buffer: RecordBuffer, _ index: Int, _ field: FieldDefinition) throws(BackupError) {
        switch buffer.kind(index) {
        case .missing where field.mayBeMissing: schemaVersion = definition.schemaVersion
        case .missing: try add("missing field \(definition.metadata.path(of: field))")
        case .integer where buffer.integer(index) >= Int64(definition.minimumSchemaVersion):
            let version = buffer.integer(index)
            schemaVersion = Int(version)
            if version > Int64(definition.newestSchemaVersion) {
                warnings.append(ImportMessages.newerVersion)
            } else if Int64(definition.schemaVersion) - version > 1 {
                warnings.append(ImportMessages.muchOlderVersion)
            }
        case .integer:
            isIncompatible = true
            try add("schema version \(buffer.integer(index)) cannot be read, only \(definition.minimumSchemaVersion) and newer")
        default:
            isIncompatible = true
            try add("\(definition.metadata.path(of: field)) is not a whole number")
        }
    }

    // MARK: Records

    func beginCollection(_ collection: Int) throws(BackupError) {
        if let currentCollection { isComplete[currentCollection] = true }
        currentCollection = collection
        isPresent[collection] = true
    }

    func visit(record: RecordBuffer, of index: Int) throws(BackupError) {
        counts[index].value += 1
        try noteKey(record, of: index)
        let plan = plans[index]
        let rules = plan.rules
        let sets = plan.sets
        for fieldIndex in 0..<rules.count {
            let rule = rules[fieldIndex]
            if rule.type == .any, record.kind(fieldIndex) == .missing { try noteMissingColumn(fieldIndex, of: index) }
            guard rule.passes(record, fieldIndex, { sets[$0]?.contains($1) ?? true }) else {
                try addProblem(record, of: index, fieldIndex)
                continue
            }
            if rule.referenceTarget >= 0, !record.isNullOrMissing(fieldIndex) {
                // Nearly all refer to existing records.
                if record.kind(fieldIndex) == .integer, keys[rule.referenceTarget].contains(record.integer(fieldIndex)) {
                    continue
                }
                try check(reference: record.value(fieldIndex), to: rule.referenceTarget, record, of: index)
            }
        }
        if plan.dateRangeIndex >= 0, let date = record.time(plan.dateRangeIndex, as: plan.rules[plan.dateRangeIndex].type) {
            earliest = min(earliest ?? date, date)
            latest = max(latest ?? date, date)
        }
    }

    /// Records a column that the table did not have when the file was created.
    private func noteMissingColumn(_ fieldIndex: Int, of index: Int) throws(BackupError) {
        guard definition.coversWholeDatabase else { return }
        let collection = definition.collections[index]
        let column = "\(collection.name).\(collection.fields[fieldIndex].name)"
        guard missingColumns.insert(column).inserted else { return }
        if definition.schemaDrift == .refuse { return try add("the file has no \(column), which the database has now") }
        warnings.append("the file has no \(column), which the database has now; the column takes its default")
    }

    private func addProblem(_ record: RecordBuffer, of index: Int, _ fieldIndex: Int) throws(BackupError) {
        let field = definition.collections[index].fields[fieldIndex]
        let problem = checker.problem(record, fieldIndex, field) ?? "\(field.name) is not valid"
        try add("\(label(record, of: index).text): \(problem)")
    }

    private func noteKey(_ record: RecordBuffer, of index: Int) throws(BackupError) {
        let keyIndex = plans[index].keyIndex
        // Older exports have the same key for several texts that differ after a NUL. The table's own primary key is unique.
        guard definition.collections[index].keyField.keyColumns.isEmpty else { return }
        let isNew: Bool
        switch (record.kind(keyIndex), plans[index].keyType) {
        case (.integer, .integer): isNew = keys[index].insert(record.integer(keyIndex))
        case (.text, .text), (.text, .uuid):
            let key = Array(record.bytes(keyIndex))
            isNew = keys[index].insert(key) || isNameOfSeveral(key, index)
        default: return
        }
        if !isNew { try add("\(label(record, of: index).text) occurs twice") }
    }

    /// Files whose names are not UTF-8 may have the same name in an export; other values distinguish them.
    private func isNameOfSeveral(_ key: [UInt8], _ index: Int) -> Bool {
        definition.collections[index].source == .files && String(decoding: key, as: UTF8.self).unicodeScalars.contains("\u{FFFD}")
    }

    private func check(
        reference key: FieldValue, to target: Int, _ record: RecordBuffer, of index: Int
    ) throws(BackupError) {
        guard !isPart, !keys[target].contains(key), pendingReferences[target][key] == nil else { return }
        let label = label(record, of: index)
        // A reference to a complete collection is reported immediately, and recorded so that it is reported only once.
        pendingReferences[target][key] = label
        if isComplete[target] {
            isReported[target].insert(key)
            try add(Self.unknown(key, of: definition.collections[target], for: label))
        }
    }

    private static func unknown(_ key: FieldValue, of target: CollectionDefinition, for label: RecordLabel) -> Message {
        "\(label.text) refers to unknown \(target.singular) \(key.messageText)"
    }

    private func label(_ record: RecordBuffer, of index: Int) -> RecordLabel {
        let collection = definition.collections[index]
        switch record.kind(collection.keyIndex) {
        case .integer, .text: return .keyed(collection.singular, record.value(collection.keyIndex).messageText)
        default: return .counted(collection.singular, counts[index].value)
        }
    }

    // MARK: What does not fit

    func visit(unknownField path: String) throws(BackupError) {
        if definition.coversWholeDatabase, definition.schemaDrift == .refuse, unknownFields[path] == nil,
            !path.hasPrefix(definition.metadata.name + ".")
        {
            try add("the file has \(path), which the database does not have now")
        }
        unknownFieldCount += 1
        if unknownFields[path] != nil || unknownFields.count < 100 { unknownFields[path, default: 0] += 1 }
    }

    func visit(misplaced message: Message) throws(BackupError) { try add(message) }

    // MARK: The end

    func finish() throws(BackupError) -> ImportSummary {
        if !isPart { try checkEnvelope() }
        try reportPendingReferences()
        guard findings.isEmpty, let schemaVersion else { throw failure() }
        let disallowed = acceptedCount > 0 ? DisallowedValues(count: acceptedCount, examples: accepted) : nil
        if let disallowed { warnings.append(disallowed.acceptance) }
        if unknownFieldCount > 0 {
            let names = unknownFields.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
            warnings.append("Unknown fields were ignored: \(names.joined(separator: ", ")).")
        }
        return ImportSummary(
            createdAt: createdAt, schemaVersion: schemaVersion, metadata: metadataTexts,
            counts: zip(definition.collections, counts).map {
                ImportSummary.CollectionCount(
                    name: $0.name, singular: $0.singular, plural: $0.plural, count: $1.value, isTold: $0.source != .manifest)
            },
            dateRange: dateRange(), warnings: warnings, disallowedValues: disallowed, unknownFields: unknownFields)
    }

    /// Reports what is missing around the records.
    private func checkEnvelope() throws(BackupError) {
        if !hasMetadata { try add("missing field \(definition.metadata.name)") }
        for (index, collection) in definition.collections.enumerated() where collection.isRequired && !isPresent[index] {
            if definition.coversWholeDatabase, definition.schemaDrift == .adapt {
                warnings.append("the file has no \(collection.name), which the database has now; the table stays as it is")
            } else {
                try add("missing field \(collection.name)")
            }
        }
        if let settings = definition.settings, settings.isRequired, !hasSettings { try add("missing field \(settings.name)") }
    }

    /// Reports references to collections that came later, or not at all.
    private func reportPendingReferences() throws(BackupError) {
        for target in definition.collections.indices {
            let unknown = pendingReferences[target].filter {
                !isReported[target].contains($0.key) && !keys[target].contains($0.key)
            }
            for (key, label) in unknown.sorted(by: { $0.value < $1.value }) {
                try add(Self.unknown(key, of: definition.collections[target], for: label))
            }
        }
    }

    private func dateRange() -> ImportSummary.DateRange? {
        guard let earliest, let latest,
            let collection = definition.collections.first(where: { $0.dateRangeIndex != nil })
        else { return nil }
        return ImportSummary.DateRange(plural: collection.plural, earliest: earliest, latest: latest)
    }
}
