/// A single object of the wire format (metadata, settings) whose values lie in a table of keys and values.
public struct ObjectDefinition: Sendable {
    /// The member's name in JSON.
    public let name: String
    /// The table; its columns are `key` and `value`. `nil` when nothing of the object is stored.
    public let table: String?
    /// Whether the object must be there when it is read.
    public let isRequired: Bool
    /// Fields in the order in which they are written; their `column` is the key.
    public let fields: [FieldDefinition]
    /// What `merge` does with values that are there.
    public let onMerge: ExistingRecordRule

    public init(name: String, table: String?, isRequired: Bool, fields: [FieldDefinition], onMerge: ExistingRecordRule = .keep) {
        self.name = name
        self.table = table
        self.isRequired = isRequired
        self.fields = fields
        self.onMerge = onMerge
    }
}
