/// Says that a field holds the key of a record in another collection.
public struct FieldReference: Sendable, Equatable {
    /// Index into `AppDefinition.collections`.
    public let collection: Int
    /// The name of that collection's key field.
    public let field: String

    public init(collection: Int, field: String) {
        self.collection = collection
        self.field = field
    }
}
