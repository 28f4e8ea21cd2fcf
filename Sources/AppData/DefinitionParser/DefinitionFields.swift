/// The part of the definition's reader for fields.
enum DefinitionFields {
    /// - Parameters:
    ///   - columnKey: `column` for fields of collections, `key` for those of key/value tables.
    ///   - collectionNames: possible targets of references, in the definition's order.
    ///   - isTold: whether its collection is not in a table.
    static func field(
        _ node: DefinitionNode, columnKey: String, collectionNames: [String], isTold: Bool = false
    ) -> ParsedField {
        let isObject = columnKey == "key"
        let isMapping = node.requireMapping(
            keys: [
                "name", columnKey, "source", "type", "required", "nullable", "values", "currency", "minimum", "above",
                "references", "dates", "years", "default",
            ] + (isObject ? ["restored"] : ["media", "mayDangle"]) + (isTold ? ["value"] : []))
        guard isMapping else { return ParsedField(name: nil, column: "", definition: nil) }
        let name = node.required("name")?.text()
        let type = node.required("type")?.choice(FieldType.self)
        let sourceNode = node.optional("source")
        let source = sourceNode == nil ? .stored : sourceNode?.choice(FieldSource.self)
        let mediaValue = isTold ? node.required("value").flatMap { value($0, type) } : nil
        let needsColumn = source == .stored && !isTold
        let column = (needsColumn ? node.required(columnKey) : node.optional(columnKey))?.text()
        let isNullable = node.optional("nullable")?.boolean() ?? false
        let hasMissingValue = !isObject && node.optional("default") != nil
        let isRequired = node.optional("required")?.boolean() ?? (!isNullable && !hasMissingValue)
        let allowedValues = values(node, type)
        let isCurrency = currency(node, type)
        let limit = limit(node, type)
        let reference = reference(node, collectionNames)
        let dateRule = dateRule(node, type)
        let defaultValue = node.optional("default")?.quoted()
        warnOfIdleMembers(node, isObject: isObject, source: source, type: type)
        if source == .constant { _ = node.required("default") }
        let missingValue = isObject || isNullable ? nil : type.flatMap { typedDefault(node, defaultValue, $0) }
        let isMedia = isMedia(node, type)
        if let dangling = node.optional("mayDangle"), !isNullable || node.optional("references") == nil {
            dangling.note("is for nullable references only", remedy: "Leave it out, or add references and nullable: true.")
        }
        guard let name, let type, let source, !needsColumn || column != nil, !isTold || mediaValue != nil else {
            return ParsedField(name: name, column: column ?? "", definition: nil)
        }
        return ParsedField(
            name: name, column: column ?? "",
            definition: FieldDefinition(
                name: name, column: column ?? "", type: type, source: source, isRequired: isRequired, isNullable: isNullable,
                allowedValues: allowedValues, isCurrency: isCurrency, limit: limit, reference: reference, dateRule: dateRule,
                defaultValue: isObject ? defaultValue : nil, missingValue: missingValue,
                isRestored: node.optional("restored")?.boolean() ?? true, isMedia: isMedia, mediaValue: mediaValue))
    }

    private static func isMedia(_ node: DefinitionNode, _ type: FieldType?) -> Bool {
        guard let member = node.optional("media") else { return false }
        if let type, type != .text { member.note("is for text only", remedy: "Leave it out, or write type: text.") }
        return member.boolean() ?? false
    }

    private static func value(_ member: DefinitionNode, _ type: FieldType?) -> MediaValue? {
        guard let value = member.choice(MediaValue.self) else { return nil }
        if let type, !value.types.contains(type) {
            let types = value.types.map(\.rawValue).joined(separator: "|")
            member.note("is no \(type.rawValue)", remedy: "Write type: \(types).")
        }
        return value
    }

    /// The default of a collection's field as a value of its type.
    private static func typedDefault(_ node: DefinitionNode, _ text: String?, _ type: FieldType) -> FieldValue? {
        guard let text, let member = node.optional("default") else { return nil }
        let bytes = Array(text.utf8)
        let value: FieldValue? =
            switch type {
            case .integer, .epochMilliseconds: Int64(text).map { .integer($0) }
            case .double: Double(text).flatMap { $0.isFinite ? .real($0) : nil }
            case .boolean: ["false": .boolean(false), "true": .boolean(true)][text]
            case .text: .text(bytes)
            case .decimalText: bytes.withUnsafeBytes { DecimalText.value($0) } == nil ? nil : .text(bytes)
            case .date: bytes.withUnsafeBytes { DateText.time($0) } == nil ? nil : .text(bytes)
            case .dates: bytes.withUnsafeBytes { DateList.texts($0) } == nil ? nil : .text(bytes)
            case .uuid: bytes.withUnsafeBytes { UUIDText.isValid($0) } ? .text(bytes) : nil
            case .any: nil
            }
        if value == nil {
            member.note("is no \(type.rawValue)", remedy: "Write a value of that type, in quotes, or leave it out.")
        }
        return value
    }

    /// Warns of members that are allowed but have no effect, or a bad one.
    private static func warnOfIdleMembers(_ node: DefinitionNode, isObject: Bool, source: FieldSource?, type: FieldType?) {
        if !isObject {
            node.optional("source")?.warn(
                "does nothing in a collection", remedy: "Leave it out: it is for the fields of metadata and settings.")
            if node.optional("nullable")?.node.scalar?.string == "true" {
                node.optional("default")?.warn(
                    "has no effect with nullable: a missing value is null", remedy: "Leave one of them out.")
            }
        }
        if let years = node.optional("years"), node.optional("dates")?.node.scalar?.string != "withinYears" {
            years.warn("does nothing without dates: withinYears", remedy: "Leave it out, or add dates: withinYears.")
        }
        let expected: [FieldType]? =
            switch source {
            case .creationTime: [.date, .epochMilliseconds]
            case .schemaVersion: [.integer]
            case .stored, .constant, nil: nil
            }
        if isObject, let type, let source, let expected, !expected.contains(type) {
            node.warn(
                "has source: \(source.rawValue), which is no \(type.rawValue)", remedy: "Write type: \(expected[0].rawValue).")
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
        if let type, !type.isTime, type != .dates {
            member.note("is for dates only", remedy: "Leave it out, or write type: date.")
        }
        switch member.word(of: ["any", "notInFuture", "withinYears"]) {
        case "notInFuture": return .notInFuture
        case "withinYears": return .withinYears(node.required("years")?.quotedInteger(in: 1...1_000) ?? 1)
        default: return .any
        }
    }
}
