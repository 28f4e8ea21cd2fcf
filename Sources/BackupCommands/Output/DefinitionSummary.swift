import AppData
import Export

/// The content of a definition, for programs.
enum DefinitionSummary {
    static func json(_ definition: AppDefinition, path: String?) -> OrderedJSON {
        .members([
            "name": .text(definition.name), "title": .text(definition.title), "builtIn": .boolean(path == nil),
            "path": .optional(path), "schemaVersion": .integer(definition.schemaVersion),
            "minimumSchemaVersion": .integer(definition.minimumSchemaVersion),
            "envelope": .array(definition.envelope.map { .text(name(of: $0, in: definition)) }),
            "metadata": object(definition.metadata), "settings": definition.settings.map(object) ?? .null,
            "collections": .array(definition.collections.map { collection($0, in: definition) }),
            "media": definition.media.map { .members(["folder": .text($0.folder)]) } ?? .null,
            "strategy": .text(definition.defaultStrategy.rawValue),
            "strategies": .array(definition.strategies.map { .text($0.rawValue) }),
            "migrations": .array(definition.migrations.map { .text($0.name) }),
        ])
    }

    private static func name(of member: EnvelopeMember, in definition: AppDefinition) -> String {
        switch member {
        case .metadata: definition.metadata.name
        case .metadataField(let index): definition.metadata.fields[index].name
        case .settings: definition.settings?.name ?? ""
        case .collection(let index): definition.collections[index].name
        }
    }

    private static func object(_ object: ObjectDefinition) -> OrderedJSON {
        .members([
            "name": .text(object.name), "table": .optional(object.table),
            "fields": .array(object.fields.map { field($0, columnKey: "key", reference: nil) }),
            "onMerge": .text(object.onMerge.rawValue),
        ])
    }

    private static func collection(_ collection: CollectionDefinition, in definition: AppDefinition) -> OrderedJSON {
        let fields = collection.fields.map { each in
            let reference = each.reference.map { "\(definition.collections[$0.collection].name).\($0.field)" }
            return field(each, columnKey: "column", reference: reference)
        }
        return .members([
            "name": .text(collection.name), "table": .text(collection.table), "key": .text(collection.keyField.name),
            "fields": .array(fields),
            "identity": .array(collection.rules.identity.map { .text(collection.fields[$0].name) }),
            "onMerge": .text(collection.rules.onMerge.rawValue),
            "keepOnReplace": .optional(collection.rules.keepOnReplaceIndex.map { collection.fields[$0].name }),
        ])
    }

    private static func field(_ field: FieldDefinition, columnKey: String, reference: String?) -> OrderedJSON {
        .members([
            "name": .text(field.name), columnKey: field.column.isEmpty ? .null : .text(field.column),
            "type": .text(field.type.rawValue), "required": .boolean(field.isRequired), "nullable": .boolean(field.isNullable),
            "references": .optional(reference), "media": .boolean(field.isMedia),
        ])
    }
}
