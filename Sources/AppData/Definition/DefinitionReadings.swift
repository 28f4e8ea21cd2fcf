/// A field as far as it could be read: others can be compared with its name while it has problems of its own.
struct FieldReading {
    let name: String?
    /// Empty when it has none.
    let column: String
    /// `nil` when there was a problem.
    let definition: FieldDefinition?
}

/// The metadata or the settings as far as they could be read.
struct ObjectReading {
    let name: String?
    /// `nil` when there was a problem.
    let definition: ObjectDefinition?
}

/// A collection as far as it could be read.
struct CollectionReading {
    let node: DefinitionNode
    let fields: [FieldReading]
    /// `nil` when there was a problem.
    let definition: CollectionDefinition?
}
