/// The part of the definition's reader that knows fields.
enum DefinitionFields {
    /// - Parameters:
    ///   - columnKey: `column` for fields of collections, `key` for those of tables of keys and values.
    ///   - collectionNames: what can be referred to, in the definition's order.
    static func field(_ node: DefinitionNode, columnKey: String, collectionNames: [String]) -> FieldReading {
        let isMapping = node.requireMapping(
            keys: [
                "name", columnKey, "source", "type", "required", "nullable", "values", "currency", "minimum", "above",
                "references", "dates", "years", "default",
            ] + (columnKey == "column" ? ["media", "mayDangle"] : []))
        guard isMapping else { return FieldReading(name: nil, column: "", definition: nil) }
        let name = node.required("name")?.text()
        let type = node.required("type")?.choice(FieldType.self)
        let sourceNode = node.optional("source")
        let source = sourceNode == nil ? .stored : sourceNode?.choice(FieldSource.self)
        let column = (source == .stored ? node.required(columnKey) : node.optional(columnKey))?.text()
        let isNullable = node.optional("nullable")?.boolean() ?? false
        let isRequired = node.optional("required")?.boolean() ?? !isNullable
        let allowedValues = values(node, type)
        let isCurrency = currency(node, type)
        let limit = limit(node, type)
        let reference = reference(node, collectionNames)
        let dateRule = dateRule(node, type)
        let defaultValue = node.optional("default")?.quoted()
        let isMedia = isMedia(node, type)
        if let dangling = node.optional("mayDangle"), !isNullable || node.optional("references") == nil {
            dangling.note("is for nullable references only", remedy: "Leave it out, or add references and nullable: true.")
        }
        warnOfIdleMembers(node, isObject: columnKey == "key", source: source, type: type)
        guard let name, let type, let source, source != .stored || column != nil else {
            return FieldReading(name: name, column: column ?? "", definition: nil)
        }
        return FieldReading(
            name: name, column: column ?? "",
            definition: FieldDefinition(
                name: name, column: column ?? "", type: type, source: source, isRequired: isRequired, isNullable: isNullable,
                allowedValues: allowedValues, isCurrency: isCurrency, limit: limit, reference: reference, dateRule: dateRule,
                defaultValue: defaultValue, isMedia: isMedia))
    }

    /// What is allowed and does nothing, or nothing good.
    private static func warnOfIdleMembers(_ node: DefinitionNode, isObject: Bool, source: FieldSource?, type: FieldType?) {
        if !isObject {
            for name in ["source", "default"] {
                node.optional(name)?.warn(
                    "does nothing in a collection", remedy: "Leave it out: it is for the fields of metadata and settings.")
            }
        }
        if let years = node.optional("years"), node.optional("dates")?.node.scalar?.string != "withinYears" {
            years.warn("does nothing without dates: withinYears", remedy: "Leave it out, or add dates: withinYears.")
        }
        if isObject, let type, let source, source != .stored {
            let expected = source == .creationTime ? FieldType.date : .integer
            if type != expected {
                node.warn(
                    "has source: \(source.rawValue), which is no \(type.rawValue)", remedy: "Write type: \(expected.rawValue).")
            }
        }
    }

    private static func values(_ node: DefinitionNode, _ type: FieldType?) -> ByteStringSet? {
        guard let list = node.optional("values") else { return nil }
        if let type, type != .text { list.note("is for text only", remedy: "Leave it out, or write type: text.") }
        guard let elements = list.elements() else { return nil }
        var members: [String] = []
        for element in elements {
            guard let text = element.text() else { continue }
            if members.contains(text) {
                element.note("repeats \(text)", remedy: "Leave it out.")
            } else {
                members.append(text)
            }
        }
        if elements.isEmpty { list.note("is empty", remedy: "Name the texts that there are, or leave it out.") }
        return ByteStringSet(members)
    }

    private static func currency(_ node: DefinitionNode, _ type: FieldType?) -> Bool {
        guard let member = node.optional("currency") else { return false }
        if let type, type != .text { member.note("is for text only", remedy: "Leave it out, or write type: text.") }
        if node.optional("values") != nil { member.note("cannot be together with values", remedy: "Leave one of them out.") }
        return member.boolean() ?? false
    }

    private static func isMedia(_ node: DefinitionNode, _ type: FieldType?) -> Bool {
        guard let member = node.optional("media") else { return false }
        if let type, type != .text { member.note("is for text only", remedy: "Leave it out, or write type: text.") }
        return member.boolean() ?? false
    }

    private static func limit(_ node: DefinitionNode, _ type: FieldType?) -> FieldLimit? {
        guard let member = node.optional("minimum") ?? node.optional("above") else { return nil }
        if node.optional("minimum") != nil, node.optional("above") != nil {
            node.note("has both minimum and above", remedy: "Leave one of them out.")
        }
        if let type, type != .integer, type != .double, type != .decimalText {
            member.note("is for numbers only", remedy: "Leave it out, or write type: integer, double or decimalText.")
        }
        guard let text = member.quoted() else { return nil }
        guard let value = Double(text), value.isFinite else {
            member.note("must be a number in quotes", remedy: "Write a number, such as \"0\" or \"0.5\".")
            return nil
        }
        return FieldLimit(value: value, text: text, isInclusive: node.optional("minimum") != nil)
    }

    private static func reference(_ node: DefinitionNode, _ names: [String]) -> FieldReference? {
        guard let member = node.optional("references"), let text = member.text() else { return nil }
        let parts = text.split(separator: ".")
        guard parts.count == 2, let index = names.firstIndex(of: String(parts[0])) else {
            let known = names.filter { !$0.isEmpty }
            member.note(
                "must name a collection and its key (cars.id)",
                remedy: known.isEmpty
                    ? "Leave it out: only fields of collections refer to collections."
                    : DefinitionNode.suggestion(for: String(parts.first ?? ""), among: known))
            return nil
        }
        return FieldReference(
            collection: index, field: String(parts[1]), mayDangle: node.optional("mayDangle")?.boolean() ?? false)
    }

    private static func dateRule(_ node: DefinitionNode, _ type: FieldType?) -> DateRule {
        guard let member = node.optional("dates") else { return .any }
        if let type, type != .date { member.note("is for dates only", remedy: "Leave it out, or write type: date.") }
        switch member.word(of: ["any", "notInFuture", "withinYears"]) {
        case "notInFuture": return .notInFuture
        case "withinYears": return .withinYears(node.required("years")?.quotedInteger(in: 1...1_000) ?? 1)
        default: return .any
        }
    }
}
