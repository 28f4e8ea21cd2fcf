import BackupCore

/// The part of the definition's reader that knows objects and collections.
enum DefinitionObjects {
    static func object(_ node: DefinitionNode, isMetadata: Bool) -> ObjectReading {
        guard node.requireMapping(keys: ["name", "table", "required", "fields", "onMerge"]) else {
            return ObjectReading(name: nil, definition: nil)
        }
        let name = node.required("name")?.text()
        let table = node.required("table")
        let tableName = table?.text()
        let isRequired = node.optional("required")?.boolean() ?? true
        let onMerge = DefinitionMergeRules.settingsRule(node, isMetadata: isMetadata)
        let readings = fields(node, columnKey: "key", collectionNames: [])
        if let table, let tableName {
            let columns = ["key", "value"].map { DefinitionTable.Column(name: $0, line: table.line) }
            node.findings.add(DefinitionTable(name: tableName, line: table.line, columns: columns, isWrittenWhole: false))
        }
        let fields = readings.compactMap(\.definition)
        guard let name, let tableName, fields.count == readings.count else { return ObjectReading(name: name, definition: nil) }
        if isMetadata { checkVersion(node, fields) }
        return ObjectReading(
            name: name,
            definition: ObjectDefinition(name: name, table: tableName, isRequired: isRequired, fields: fields, onMerge: onMerge))
    }

    /// Without its version an export cannot be restored, which would be found out too late.
    private static func checkVersion(_ node: DefinitionNode, _ fields: [FieldDefinition]) {
        guard !fields.contains(where: { $0.source == .schemaVersion && $0.type == .integer }) else { return }
        node.warn(
            "has no integer with source: schemaVersion, so that no export could be restored",
            remedy: "Add to its fields: {name: schemaVersion, source: schemaVersion, type: integer}")
    }

    /// The collection's name, checked to be a file's name too (`data/NAME.json`).
    static func collectionName(_ node: DefinitionNode) -> String? {
        guard let name = node.required("name"), let text = name.text() else { return nil }
        if !FileName(text).isSafeComponent {
            name.note("must be usable as a file's name", remedy: "Write a name of at most 255 bytes without a slash.")
        }
        return text
    }

    /// - Parameter name: as `collectionName` gives it: what is wrong with it is noted there.
    static func collection(_ node: DefinitionNode, name: String?, collectionNames: [String]) -> CollectionReading {
        let isMapping = node.requireMapping(
            keys: [
                "name", "table", "key", "singular", "plural", "dateRange", "required", "omitEmpty", "fields",
            ] + DefinitionMergeRules.collectionMembers)
        guard isMapping else {
            return CollectionReading(node: node, fields: [], definition: nil)
        }
        let table = node.required("table")
        let tableName = table?.text()
        let singular = node.required("singular")?.text()
        let plural = node.required("plural")?.text()
        let readings = fields(node, columnKey: "column", collectionNames: collectionNames)
        let keyIndex = keyIndex(node, readings)
        let dateRangeIndex = dateRangeIndex(node, readings)
        let rules = DefinitionMergeRules.rules(node, readings, keyIndex: keyIndex)
        let isRequired = node.optional("required")?.boolean() ?? true
        let isOmittedWhenEmpty = node.optional("omitEmpty")?.boolean() ?? false
        if let table, let tableName {
            let columns = zip(readings, node.optional("fields")?.elements() ?? []).map { reading, field in
                DefinitionTable.Column(name: reading.column, line: field.optional("column")?.line ?? field.line)
            }
            node.findings.add(
                DefinitionTable(
                    name: tableName, line: table.line, columns: columns.filter { !$0.name.isEmpty }, isWrittenWhole: true))
        }
        let fields = readings.compactMap(\.definition)
        guard let name, let tableName, let singular, let plural, let keyIndex, let rules, fields.count == readings.count else {
            return CollectionReading(node: node, fields: readings, definition: nil)
        }
        return CollectionReading(
            node: node, fields: readings,
            definition: CollectionDefinition(
                name: name, table: tableName, fields: fields, keyIndex: keyIndex, singular: singular, plural: plural,
                dateRangeIndex: dateRangeIndex, isRequired: isRequired, isOmittedWhenEmpty: isOmittedWhenEmpty,
                rules: rules))
    }

    private static func keyIndex(_ node: DefinitionNode, _ fields: [FieldReading]) -> Int? {
        guard let key = node.required("key"), let index = fieldIndex(key, fields) else { return nil }
        if let field = fields[index].definition,
            (field.type != .integer && field.type != .text) || field.isNullable || !field.isRequired
        {
            key.note(
                "must name a required integer or text",
                remedy: "Name the field that tells one record from all others, the table's primary key.")
        }
        return index
    }

    private static func dateRangeIndex(_ node: DefinitionNode, _ fields: [FieldReading]) -> Int? {
        guard let range = node.optional("dateRange"), let index = fieldIndex(range, fields) else { return nil }
        if let field = fields[index].definition, field.type != .date {
            range.note("must name a date", remedy: "Name a field with type: date, or leave it out.")
        }
        return index
    }

    static func fieldIndex(_ node: DefinitionNode, _ fields: [FieldReading]) -> Int? {
        guard let name = node.text() else { return nil }
        guard let index = fields.firstIndex(where: { $0.name == name }) else {
            // A field whose name could not be read may be the one.
            if !fields.isEmpty, fields.allSatisfy({ $0.name != nil }) {
                node.note(
                    "names \(name), which is not a field",
                    remedy: DefinitionNode.suggestion(for: name, among: fields.compactMap(\.name)))
            }
            return nil
        }
        return index
    }

    private static func fields(_ node: DefinitionNode, columnKey: String, collectionNames: [String]) -> [FieldReading] {
        guard let elements = node.required("fields")?.elements() else { return [] }
        let readings = elements.map { DefinitionFields.field($0, columnKey: columnKey, collectionNames: collectionNames) }
        // The wire reader keeps the fields it has seen in one word.
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
