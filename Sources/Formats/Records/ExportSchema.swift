import AppData

/// The JSON Schema (2020-12) of an app's `export.json`, for programs that validate or create exports. It expresses as much of the
/// definition as JSON Schema can. Descriptions state the rest: that keys are unique, that references must resolve, how far in the
/// future a date may be. The same definition always gives the same bytes.
public struct ExportSchema {
    private let definition: AppDefinition

    public init(_ definition: AppDefinition) { self.definition = definition }

    public var json: OrderedJSON {
        let head: OrderedJSON = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "urn:backupfs:app:\(definition.name):\(definition.schemaVersion)", "title": definition.title,
            "description": "An export of \(definition.title), version \(definition.schemaVersion) of its format. "
                + "Members that are not named here are ignored by a restore.",
        ]
        let hasCurrency = fields.contains(where: \.isCurrency)
        return head.adding(Self.object(definition.envelope.compactMap(member)))
            .adding(hasCurrency ? ["$defs": ["currency": FieldSchema.currency] as OrderedJSON] : [:])
    }

    private var fields: [FieldDefinition] {
        definition.metadata.fields + (definition.settings?.fields ?? []) + definition.collections.flatMap(\.fields)
    }

    // MARK: The envelope

    /// A member of an object, and whether it is required.
    struct Property {
        let name: String
        let isRequired: Bool
        let schema: OrderedJSON
    }

    private func member(_ member: EnvelopeMember) -> Property? {
        switch member {
        case .metadata:
            // A restore refuses an export without it, regardless of the definition.
            return property(definition.metadata, isRequired: true, "What this export is.")
        case .metadataField(let index): return property(definition.metadata.fields[index], in: nil)
        case .settings:
            return definition.settings.map { property($0, isRequired: $0.isRequired, "The user's settings.") }
        case .collection(let index):
            let collection = definition.collections[index]
            let title: OrderedJSON = ["title": collection.singular]
            let record = title.adding(Self.object(collection.fields.map { property($0, in: collection) }))
            return Property(
                name: collection.name, isRequired: collection.isRequired,
                schema: ["title": collection.plural, "type": "array", "items": record])
        }
    }

    private func property(_ object: ObjectDefinition, isRequired: Bool, _ description: String) -> Property {
        let head: OrderedJSON = ["description": description]
        let schema = Self.object(properties(WireObjectLayout(object.fields), of: object), mayBeNull: !isRequired)
        return Property(name: object.name, isRequired: isRequired, schema: head.adding(schema))
    }

    private func properties(_ layout: WireObjectLayout, of object: ObjectDefinition) -> [Property] {
        layout.members.map { member in
            switch member.content {
            case .field(let index):
                let schema = FieldSchema(object.fields[index], in: nil, of: definition)
                return Property(name: member.name, isRequired: schema.isRequired, schema: schema.json)
            case .object(let inner):
                let inner = properties(inner, of: object)
                let isRequired = inner.contains(where: \.isRequired)
                return Property(name: member.name, isRequired: isRequired, schema: Self.object(inner, mayBeNull: !isRequired))
            }
        }
    }

    private func property(_ field: FieldDefinition, in collection: CollectionDefinition?) -> Property {
        let schema = FieldSchema(field, in: collection, of: definition)
        return Property(name: field.name, isRequired: schema.isRequired, schema: schema.json)
    }

    private static func object(_ properties: [Property], mayBeNull: Bool = false) -> OrderedJSON {
        [
            "type": mayBeNull ? ["object", "null"].json : "object".json,
            "required": properties.filter(\.isRequired).map(\.name),
            "properties": OrderedJSON.object(properties.map { .init($0.name, $0.schema) }), "additionalProperties": true,
        ]
    }
}

/// The JSON Schema of one member of a record, of the metadata or of the settings.
struct FieldSchema {
    /// ISO 8601 as a restore reads it: a time zone is required.
    static let datePattern =
        "^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
        + "(?:\\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"

    private let field: FieldDefinition
    private let collection: CollectionDefinition?
    private let definition: AppDefinition

    /// - Parameter collection: the field's collection; `nil` for the metadata and the settings.
    init(_ field: FieldDefinition, in collection: CollectionDefinition?, of definition: AppDefinition) {
        self.field = field
        self.collection = collection
        self.definition = definition
    }

    /// Whether it contains the version of the export, which a restore always requires.
    private var isVersion: Bool { collection == nil && field.source == .schemaVersion }
    private var mayBeNull: Bool { !isVersion && field.mayBeNull }

    /// Whether the member is required.
    var isRequired: Bool { !field.mayBeMissing }

    var json: OrderedJSON {
        let notes = notes
        let head: OrderedJSON = notes.isEmpty ? [:] : ["description": notes.joined(separator: " ")]
        if field.type == .any { return head.adding(["anyOf": Self.anyValue]) }
        if field.isCurrency {
            let currency: OrderedJSON = ["$ref": "#/$defs/currency"]
            let null: OrderedJSON = ["type": "null"]
            // Some programs ignore the siblings of a reference.
            return head.adding(mayBeNull ? ["anyOf": [currency, null]] : currency)
        }
        let names = typeNames + (mayBeNull ? ["null"] : [])
        return head.adding(["type": names.count == 1 ? names[0].json : names.json]).adding(rules)
    }

    private var typeNames: [String] {
        if isVersion { return ["integer"] }
        return switch field.type {
        case .integer, .epochMilliseconds: ["integer"]
        case .double: ["number"]
        case .boolean: ["boolean"]
        case .date: definition.dateNumbers == nil ? ["string"] : ["string", "number"]
        case .dates: ["array"]
        case .text, .decimalText, .uuid, .any: ["string"]
        }
    }

    // MARK: Rules

    private var rules: OrderedJSON {
        if isVersion { return ["minimum": definition.minimumSchemaVersion] }
        switch field.type {
        // 64 bits, and the definition's own limit where that is narrower.
        case .integer, .epochMilliseconds: return (limit ?? ["minimum": Int64.min]).adding(["maximum": Int64.max])
        case .double: return limit ?? [:]
        case .boolean, .any: return [:]
        case .text:
            guard let values = field.allowedValues else { return [:] }
            return ["enum": values.members.map(\.json) + (mayBeNull ? [.null] : [])]
        case .decimalText: return ["maxLength": 400, "pattern": decimalPattern]
        case .date: return Self.date
        case .dates:
            let type: OrderedJSON = ["type": definition.dateNumbers == nil ? "string".json : ["string", "number"].json]
            return ["items": type.adding(Self.date)]
        case .uuid: return ["pattern": "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"]
        }
    }

    private static let date: OrderedJSON = ["format": "date-time", "pattern": datePattern]

    /// Any SQLite value, as `AnyValueText` writes it.
    private static let anyValue: [OrderedJSON] = [
        ["type": ["number", "string", "null"]],
        wrapped("blob", "^[A-Za-z0-9+/]*={0,2}$"), wrapped("text", "^[A-Za-z0-9+/]*={0,2}$"), wrapped("real", "^-?inf$"),
    ]

    private static func wrapped(_ kind: String, _ pattern: String) -> OrderedJSON {
        [
            "type": "object", "required": [kind],
            "properties": [kind: ["type": "string", "pattern": pattern] as OrderedJSON] as OrderedJSON,
            "additionalProperties": false,
        ]
    }

    private var limit: OrderedJSON? {
        field.limit.map { [$0.isInclusive ? "minimum" : "exclusiveMinimum": Self.number($0.value)] }
    }

    private static func number(_ value: Double) -> OrderedJSON {
        if let integer = Int64(exactly: value) { return .integer(integer) }
        return .decimal(value)
    }

    /// JSON Schema cannot compare numbers in strings; but a pattern can match a sign or zero.
    private var decimalPattern: String {
        let digits = "[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
        guard let limit = field.limit, limit.value >= 0 else { return "^-?\(digits)" }
        return limit.isInclusive && limit.value == 0 ? "^(?:-(?=[0.]+(?:[eE]|$)))?\(digits)" : "^(?=[0-9.]*[1-9])\(digits)"
    }

    // MARK: For people

    /// Facts that the rules do not express.
    private var notes: [String] {
        var notes: [String] = []
        if let collection, collection.keyField.name == field.name {
            notes.append("Tells one \(collection.singular) from all others.")
        }
        if let reference = field.reference {
            let name = "The \(reference.field) of one of the \(definition.collections[reference.collection].plural)"
            notes.append(reference.mayDangle ? "\(name), which may not be there." : "\(name).")
        }
        if collection == nil, field.source == .creationTime { notes.append("The moment of the export.") }
        if isVersion { notes.append("The version of the format.") }
        if field.type == .epochMilliseconds { notes.append("Milliseconds since 1970 in UTC.") }
        if definition.dateNumbers != nil, field.type == .date || field.type == .dates {
            notes.append("A number counts the seconds since 2001-01-01T00:00:00Z.")
        }
        if field.missingValue != nil { notes.append("What is missing has a default.") }
        if field.type == .decimalText {
            notes.append("A decimal number as text.")
            if let limit = field.limit { notes.append(limit.isInclusive ? "At least \(limit.text)." : "Above \(limit.text).") }
        }
        switch field.dateRule {
        case .any: break
        case .notInFuture: notes.append("Not later than a day from now.")
        case .withinYears(let years): notes.append("Not later than \(years) years from now.")
        }
        return notes
    }

    /// The allowed values of a field with `currency: true`.
    static var currency: OrderedJSON {
        [
            "description": "A code of ISO 4217, or a symbol that apps write in its place.", "type": "string",
            "enum": CurrencyCodes.members,
        ]
    }
}
