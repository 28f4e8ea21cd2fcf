import AppData

/// The JSON Schema (2020-12) of an app's `export.json`, for programs that validate or create exports. It expresses as much of the definition as JSON Schema
/// can. Descriptions state the rest: that keys are unique, that references must resolve, how far in the future a date may be. The same definition always
/// gives the same bytes.
public struct ExportSchema {
    private let definition: AppDefinition

    public init(_ definition: AppDefinition) { self.definition = definition }

    public var json: OrderedJSON {
        var members: [OrderedJSON.Member] = [
            .init("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
            .init("$id", .text("urn:backupfs:app:\(definition.name):\(definition.schemaVersion)")),
            .init("title", .text(definition.title)),
            .init(
                "description",
                .text(
                    "An export of \(definition.title), version \(definition.schemaVersion) of its format. "
                        + "Members that are not named here are ignored by a restore.")),
        ]
        members += Self.object(definition.envelope.compactMap(member))
        if fields.contains(where: \.isCurrency) {
            members.append(.init("$defs", .members(["currency": FieldSchema.currency])))
        }
        return .object(members)
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
            let record = Self.object(collection.fields.map { property($0, in: collection) })
            return Property(
                name: collection.name, isRequired: collection.isRequired,
                schema: .members([
                    "title": .text(collection.plural), "type": .text("array"),
                    "items": .object([.init("title", .text(collection.singular))] + record),
                ]))
        }
    }

    private func property(_ object: ObjectDefinition, isRequired: Bool, _ description: String) -> Property {
        let members = Self.object(properties(WireObjectLayout(object.fields), of: object), mayBeNull: !isRequired)
        return Property(
            name: object.name, isRequired: isRequired, schema: .object([.init("description", .text(description))] + members))
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
                return Property(
                    name: member.name, isRequired: isRequired, schema: .object(Self.object(inner, mayBeNull: !isRequired)))
            }
        }
    }

    private func property(_ field: FieldDefinition, in collection: CollectionDefinition?) -> Property {
        let schema = FieldSchema(field, in: collection, of: definition)
        return Property(name: field.name, isRequired: schema.isRequired, schema: schema.json)
    }

    private static func object(_ properties: [Property], mayBeNull: Bool = false) -> [OrderedJSON.Member] {
        [
            .init("type", mayBeNull ? .array([.text("object"), .text("null")]) : .text("object")),
            .init("required", .array(properties.filter(\.isRequired).map { .text($0.name) })),
            .init("properties", .object(properties.map { .init($0.name, $0.schema) })),
            .init("additionalProperties", .boolean(true)),
        ]
    }
}
