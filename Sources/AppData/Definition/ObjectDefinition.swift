/// A single object of the wire format (metadata, settings) whose values are in a key/value table.
public struct ObjectDefinition: Sendable {
    /// The member's name in JSON; empty for metadata whose fields are direct members of the outermost object.
    public let name: String
    /// The table, with the columns `key` and `value`. `nil` when no value of the object is stored.
    public let table: String?
    /// Whether the object is required on reading.
    public let isRequired: Bool
    /// Fields in writing order; their `column` is the key. A dotted name is a member of an inner object: `securitySettings.hasPIN`.
    public let fields: [FieldDefinition]
    /// What `merge` does with existing values.
    public let onMerge: ExistingRecordRule
    /// The same for `replace`. The user may override it in a restore.
    public let onReplace: ExistingRecordRule

    public init(
        name: String, table: String?, isRequired: Bool, fields: [FieldDefinition], onMerge: ExistingRecordRule = .keep,
        onReplace: ExistingRecordRule = .update
    ) {
        self.name = name
        self.table = table
        self.isRequired = isRequired
        self.fields = fields
        self.onMerge = onMerge
        self.onReplace = onReplace
    }

    /// Whether the fields are direct members of the outermost object.
    public var isInline: Bool { name.isEmpty }

    /// A field's name for messages: `metadata.createdAt`.
    func path(of field: FieldDefinition) -> String { isInline ? field.name : "\(name).\(field.name)" }
}
