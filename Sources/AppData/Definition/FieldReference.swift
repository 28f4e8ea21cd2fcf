/// Marks a field as the key of a record in another collection.
public struct FieldReference: Sendable, Equatable {
    /// Index into `AppDefinition.collections`.
    public let collection: Int
    /// The name of that collection's key field.
    public let field: String
    /// Whether the record may be missing.
    public let mayDangle: Bool

    public init(collection: Int, field: String, mayDangle: Bool = false) {
        self.collection = collection
        self.field = field
        self.mayDangle = mayDangle
    }
}
