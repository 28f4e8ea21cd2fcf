/// A single object of the wire format (metadata, settings) whose values lie in a table of keys and values.
public struct ObjectDefinition: Sendable {
    /// The member's name in JSON; empty for metadata whose fields are members of the outermost object themselves.
    public let name: String
    /// The table; its columns are `key` and `value`. `nil` when nothing of the object is stored.
    public let table: String?
    /// Whether the object must be there when it is read.
    public let isRequired: Bool
    /// Fields in the order in which they are written; their `column` is the key. A name with dots is a member of an object inside:
    /// `securitySettings.hasPIN`.
    public let fields: [FieldDefinition]
    /// What `merge` does with values that are there.
    public let onMerge: ExistingRecordRule
    /// The same for `replace`. Somebody who restores may ask for something else.
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

    /// Whether the fields are members of the outermost object.
    public var isInline: Bool { name.isEmpty }

    /// A field's name for messages: `metadata.createdAt`.
    func path(of field: FieldDefinition) -> String { isInline ? field.name : "\(name).\(field.name)" }
}
