import BackupCore

/// The part of the definition's reader that knows objects, collections and fields.
enum DefinitionObjects {
    static func object(_ node: DefinitionNode) throws(BackupError) -> ObjectDefinition {
        try node.requireMapping(keys: ["name", "table", "required", "fields"])
        var fields: [FieldDefinition] = []
        for element in try node.required("fields").elements() {
            fields.append(try field(element, columnKey: "key", collectionNames: []))
        }
        try requireDistinct(fields, node)
        return ObjectDefinition(
            name: try node.required("name").text(), table: try node.required("table").text(),
            isRequired: try node.optional("required")?.boolean() ?? true, fields: fields)
    }

    /// The collection's name, checked to be a file's name too (`data/NAME.json`).
    static func collectionName(_ node: DefinitionNode) throws(BackupError) -> String {
        let name = try node.required("name")
        let text = try name.text()
        guard FileName(text).isSafeComponent else { throw name.failure("must be usable as a file's name") }
        return text
    }

    static func collection(_ node: DefinitionNode, collectionNames: [String]) throws(BackupError) -> CollectionDefinition {
        try node.requireMapping(keys: [
            "name", "table", "key", "singular", "plural", "dateRange", "required", "omitEmpty", "fields",
        ])
        var fields: [FieldDefinition] = []
        for element in try node.required("fields").elements() {
            fields.append(try field(element, columnKey: "column", collectionNames: collectionNames))
        }
        try requireDistinct(fields, node)
        let keyIndex = try fieldIndex(node.required("key"), fields)
        let key = fields[keyIndex]
        guard key.type == .integer || key.type == .text, !key.isNullable, key.isRequired else {
            throw try node.required("key").failure("must name a required integer or text")
        }
        var dateRangeIndex: Int?
        if let range = node.optional("dateRange") {
            let index = try fieldIndex(range, fields)
            guard fields[index].type == .date else { throw range.failure("must name a date") }
            dateRangeIndex = index
        }
        return CollectionDefinition(
            name: try collectionName(node), table: try node.required("table").text(), fields: fields, keyIndex: keyIndex,
            singular: try node.required("singular").text(), plural: try node.required("plural").text(),
            dateRangeIndex: dateRangeIndex, isRequired: try node.optional("required")?.boolean() ?? true,
            isOmittedWhenEmpty: try node.optional("omitEmpty")?.boolean() ?? false)
    }

    private static func fieldIndex(_ node: DefinitionNode, _ fields: [FieldDefinition]) throws(BackupError) -> Int {
        let name = try node.text()
        guard let index = fields.firstIndex(where: { $0.name == name }) else {
            throw node.failure("names \(name), which is not a field")
        }
        return index
    }

    private static func requireDistinct(_ fields: [FieldDefinition], _ node: DefinitionNode) throws(BackupError) {
        // The wire reader keeps the fields it has seen in one word.
        guard (1...64).contains(fields.count) else { throw node.failure("must have 1 to 64 fields") }
        for (index, field) in fields.enumerated() {
            let isRepeated = fields[..<index].contains { other in
                other.name == field.name || (!field.column.isEmpty && other.column == field.column)
            }
            if isRepeated { throw node.failure("has the field or column \(field.name) twice") }
        }
    }

    private static func field(
        _ node: DefinitionNode, columnKey: String, collectionNames: [String]
    ) throws(BackupError) -> FieldDefinition {
        try node.requireMapping(keys: [
            "name", columnKey, "source", "type", "required", "nullable", "values", "currency", "minimum", "above",
            "references", "dates", "years", "default",
        ])
        let type = try node.required("type").choice(FieldType.self)
        let source = try node.optional("source")?.choice(FieldSource.self) ?? .stored
        let column = source == .stored ? try node.required(columnKey).text() : try node.optional(columnKey)?.text() ?? ""
        let isNullable = try node.optional("nullable")?.boolean() ?? false
        return FieldDefinition(
            name: try node.required("name").text(), column: column, type: type, source: source,
            isRequired: try node.optional("required")?.boolean() ?? !isNullable, isNullable: isNullable,
            allowedValues: try values(node, type), isCurrency: try currency(node, type), limit: try limit(node, type),
            reference: try reference(node, collectionNames), dateRule: try dateRule(node, type),
            defaultValue: try node.optional("default")?.quoted())
    }

    private static func values(_ node: DefinitionNode, _ type: FieldType) throws(BackupError) -> ByteStringSet? {
        guard let list = node.optional("values") else { return nil }
        guard type == .text else { throw list.failure("is for text only") }
        var members: [String] = []
        for element in try list.elements() {
            let text = try element.text()
            guard !members.contains(text) else { throw element.failure("repeats \(text)") }
            members.append(text)
        }
        guard !members.isEmpty else { throw list.failure("is empty") }
        return ByteStringSet(members)
    }

    private static func currency(_ node: DefinitionNode, _ type: FieldType) throws(BackupError) -> Bool {
        guard let member = node.optional("currency") else { return false }
        guard type == .text else { throw member.failure("is for text only") }
        guard node.optional("values") == nil else { throw member.failure("cannot be together with values") }
        return try member.boolean()
    }

    private static func limit(_ node: DefinitionNode, _ type: FieldType) throws(BackupError) -> FieldLimit? {
        guard let member = node.optional("minimum") ?? node.optional("above") else { return nil }
        guard node.optional("minimum") == nil || node.optional("above") == nil else {
            throw node.failure("has both minimum and above")
        }
        guard type == .integer || type == .double || type == .decimalText else { throw member.failure("is for numbers only") }
        let text = try member.quoted()
        guard let value = Double(text), value.isFinite else { throw member.failure("must be a number in quotes") }
        return FieldLimit(value: value, text: text, isInclusive: node.optional("minimum") != nil)
    }

    private static func reference(_ node: DefinitionNode, _ names: [String]) throws(BackupError) -> FieldReference? {
        guard let member = node.optional("references") else { return nil }
        let parts = try member.text().split(separator: ".")
        guard parts.count == 2, let index = names.firstIndex(of: String(parts[0])) else {
            throw member.failure("must name a collection and its key (cars.id)")
        }
        return FieldReference(collection: index, field: String(parts[1]))
    }

    private static func dateRule(_ node: DefinitionNode, _ type: FieldType) throws(BackupError) -> DateRule {
        guard let member = node.optional("dates") else { return .any }
        guard type == .date else { throw member.failure("is for dates only") }
        switch try member.text() {
        case "any": return .any
        case "notInFuture": return .notInFuture
        case "withinYears": return .withinYears(try node.required("years").quotedInteger(in: 1...1_000))
        default: throw member.failure("must be one of any, notInFuture, withinYears")
        }
    }
}
