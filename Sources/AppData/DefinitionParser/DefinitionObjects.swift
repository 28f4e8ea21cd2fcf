import BackupCore

/// The part of the definition's reader for objects and collections.
enum DefinitionObjects {
    static func object(_ node: DefinitionNode, isMetadata: Bool) -> ParsedObject {
        guard node.requireMapping(keys: ["name", "table", "required", "fields", "onMerge", "onReplace"]) else {
            return ParsedObject(name: nil, definition: nil)
        }
        // Metadata without a name has no separate object.
        let isInline = isMetadata && node.optional("name") == nil
        let name = isInline ? "" : node.required("name")?.text()
        let table = node.required("table")
        let tableName = table?.text()
        let isRequired = node.optional("required")?.boolean() ?? true
        let onMerge = DefinitionMergeRules.settingsRule("onMerge", node, isMetadata: isMetadata) ?? .keep
        let onReplace = DefinitionMergeRules.settingsRule("onReplace", node, isMetadata: isMetadata) ?? .update
        let readings = fields(node, columnKey: "key", collectionNames: [])
        let inlineNames = isInline ? readings.map(\.name) : nil
        checkNesting(node, readings, isInline: isInline)
        if let table, let tableName {
            let columns = ["key", "value"].map { DefinitionTable.Column(name: $0, line: table.line) }
            node.findings.add(DefinitionTable(name: tableName, line: table.line, columns: columns, isWrittenWhole: false))
        }
        let fields = readings.compactMap(\.definition)
        guard let name, let tableName, fields.count == readings.count else {
            return ParsedObject(name: isInline ? nil : name, inlineNames: inlineNames, definition: nil)
        }
        if isMetadata { checkVersion(node, fields) }
        return ParsedObject(
            name: isInline ? nil : name, inlineNames: inlineNames,
            definition: ObjectDefinition(
                name: name, table: tableName, isRequired: isRequired, fields: fields, onMerge: onMerge,
                onReplace: onReplace))
    }

    /// A dotted name is a member of an inner object, which cannot also be a value.
    private static func checkNesting(_ node: DefinitionNode, _ readings: [ParsedField], isInline: Bool) {
        let names = readings.compactMap(\.name)
        for name in names where name.contains(".") {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            if isInline || parts.contains("") {
                node.note(
                    "has the field \(name), whose dots are out of place",
                    remedy: isInline
                        ? "Fields of metadata without a name are members of the export itself: leave out the dots."
                        : "Write the names of the objects and of the member with one dot between them: security.hasPIN.")
            }
            for count in 1..<max(2, parts.count)
            where names.contains(parts.prefix(count).joined(separator: ".")) && count < parts.count {
                node.note(
                    "has the field \(parts.prefix(count).joined(separator: ".")), which is an object too",
                    remedy: "Rename one of them.")
            }
        }
    }

    /// Without its version an export cannot be restored, which would otherwise be discovered too late.
    private static func checkVersion(_ node: DefinitionNode, _ fields: [FieldDefinition]) {
        guard !fields.contains(where: { $0.source == .schemaVersion && $0.type == .integer }) else { return }
        node.warn(
            "has no integer with source: schemaVersion, so that no export could be restored",
            remedy: "Add to its fields: {name: schemaVersion, source: schemaVersion, type: integer}")
    }

    /// The collection's name, which must also be a valid file name (`data/NAME.json`).
    static func collectionName(_ node: DefinitionNode) -> String? {
        guard let name = node.required("name"), let text = name.text() else { return nil }
        if !FileName(text).isSafeComponent {
            name.note("must be usable as a file's name", remedy: "Write a name of at most 255 bytes without a slash.")
        }
        return text
    }

    /// - Parameter name: from `collectionName`, which reports its problems.
    static func collection(_ node: DefinitionNode, name: String?, collectionNames: [String]) -> ParsedCollection {
        let isMapping = node.requireMapping(
            keys: [
                "name", "table", "key", "singular", "plural", "dateRange", "required", "omitEmpty", "source",
                "mediaUnless", "fields",
            ] + DefinitionMergeRules.collectionMembers)
        guard isMapping else {
            return ParsedCollection(node: node, fields: [], definition: nil)
        }
        let source = node.optional("source").map { $0.choice(CollectionSource.self) } ?? .table
        let isTold = source != .table
        let table = isTold ? node.optional("table") : node.required("table")
        if isTold { table?.note("cannot be together with source", remedy: "Leave it out: the records are in no table.") }
        let tableName = isTold ? "" : table?.text()
        let singular = node.required("singular")?.text()
        let plural = node.required("plural")?.text()
        let readings = fields(node, columnKey: "column", collectionNames: collectionNames, isTold: isTold)
        let mediaExclusionIndex = node.optional("mediaUnless").flatMap { booleanIndex($0, readings) }
        if source == .files { checkFiles(node, readings) }
        let keyIndex = keyIndex(node, readings)
        let dateRangeIndex = dateRangeIndex(node, readings)
        let rules = DefinitionMergeRules.rules(node, readings, keyIndex: keyIndex)
        let isRequired = node.optional("required")?.boolean() ?? true
        let isOmittedWhenEmpty = node.optional("omitEmpty")?.boolean() ?? false
        if let table, let tableName, !isTold {
            let columns = zip(readings, node.optional("fields")?.elements() ?? []).map { reading, field in
                DefinitionTable.Column(name: reading.column, line: field.optional("column")?.line ?? field.line)
            }
            node.findings.add(
                DefinitionTable(
                    name: tableName, line: table.line, columns: columns.filter { !$0.name.isEmpty }, isWrittenWhole: true))
        }
        let fields = readings.compactMap(\.definition)
        guard let name, let tableName, let singular, let plural, let keyIndex, let source, let rules,
            fields.count == readings.count
        else {
            return ParsedCollection(node: node, fields: readings, definition: nil)
        }
        return ParsedCollection(
            node: node, fields: readings,
            definition: CollectionDefinition(
                name: name, table: tableName, fields: fields, keyIndex: keyIndex, singular: singular, plural: plural,
                dateRangeIndex: dateRangeIndex, isRequired: isRequired, isOmittedWhenEmpty: isOmittedWhenEmpty,
                source: source, mediaExclusionIndex: mediaExclusionIndex, rules: rules))
    }

    static func booleanIndex(_ member: DefinitionNode, _ fields: [ParsedField]) -> Int? {
        guard let index = fieldIndex(member, fields) else { return nil }
        if let field = fields[index].definition, field.type != .boolean {
            member.note("must name a boolean", remedy: "Name a field with type: boolean, or leave it out.")
        }
        return index
    }

    private static func checkFiles(_ node: DefinitionNode, _ fields: [ParsedField]) {
        for field in fields.compactMap(\.definition) {
            guard let value = field.mediaValue, value.isOfRecord else { continue }
            node.note(
                "has the field \(field.name) with value: \(value.rawValue), but its records are files",
                remedy: "Write source: manifest, or another value.")
        }
    }

    private static func keyIndex(_ node: DefinitionNode, _ fields: [ParsedField]) -> Int? {
        guard let key = node.required("key"), let index = fieldIndex(key, fields) else { return nil }
        if let field = fields[index].definition,
            ![.integer, .text, .uuid].contains(field.type) || field.isNullable || !field.isRequired
        {
            key.note(
                "must name a required integer or text",
                remedy: "Name the field that identifies a record: the table's primary key.")
        }
        return index
    }

    private static func dateRangeIndex(_ node: DefinitionNode, _ fields: [ParsedField]) -> Int? {
        guard let range = node.optional("dateRange"), let index = fieldIndex(range, fields) else { return nil }
        if let field = fields[index].definition, !field.type.isTime {
            range.note("must name a date", remedy: "Name a field with type: date or epochMilliseconds, or leave it out.")
        }
        return index
    }

    static func fieldIndex(_ node: DefinitionNode, _ fields: [ParsedField]) -> Int? {
        guard let name = node.text() else { return nil }
        guard let index = fields.firstIndex(where: { $0.name == name }) else {
            // It may be a field whose name could not be read.
            if !fields.isEmpty, fields.allSatisfy({ $0.name != nil }) {
                node.note(
                    "names \(name), which is not a field",
                    remedy: DefinitionNode.suggestion(for: name, among: fields.compactMap(\.name)))
            }
            return nil
        }
        return index
    }

    private static func fields(
        _ node: DefinitionNode, columnKey: String, collectionNames: [String], isTold: Bool = false
    ) -> [ParsedField] {
        guard let elements = node.required("fields")?.elements() else { return [] }
        let readings = elements.map {
            DefinitionFields.field($0, columnKey: columnKey, collectionNames: collectionNames, isTold: isTold)
        }
        // The wire reader keeps the set of seen fields in one word.
        if !(1...64).contains(readings.count) {
            node.note("must have 1 to 64 fields", remedy: "Name at least the key, and what has more columns in two collections.")
        }
        for (index, field) in readings.enumerated() {
            guard let name = field.name else { continue }
            let isRepeated = readings[..<index].contains { other in
                other.name == name || (!field.column.isEmpty && other.column == field.column)
            }
            if isRepeated {
                node.note("has the field or column \(name) twice", remedy: "Name each field and each column once.")
            }
        }
        return readings
    }
}

/// A field as far as it could be read: others can be compared with its name even if it has problems itself.
struct ParsedField {
    let name: String?
    /// Empty when it has none
    let column: String
    /// `nil` when there was a problem
    let definition: FieldDefinition?
}

/// The metadata or the settings as far as they could be read.
struct ParsedObject {
    /// `nil` when there was a problem, or the fields have no separate object.
    let name: String?
    /// The fields' names, if they are direct members of the outermost object.
    var inlineNames: [String?]?
    /// `nil` when there was a problem
    let definition: ObjectDefinition?

    var isInline: Bool { inlineNames != nil }

    /// Its members of the outermost object; `nil` when they could not be read.
    var memberNames: [String]? {
        guard let inlineNames else { return name.map { [$0] } }
        let names = inlineNames.compactMap { $0 }
        return names.count == inlineNames.count ? names : nil
    }
}

/// A collection as far as it could be read.
struct ParsedCollection {
    let node: DefinitionNode
    let fields: [ParsedField]
    /// `nil` when there was a problem
    let definition: CollectionDefinition?
}
