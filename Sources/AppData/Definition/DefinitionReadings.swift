/// A field as far as it could be read: others can be compared with its name even if it has problems itself.
struct FieldReading {
    let name: String?
    /// Empty when it has none
    let column: String
    /// `nil` when there was a problem
    let definition: FieldDefinition?
}

/// The metadata or the settings as far as they could be read.
struct ObjectReading {
    /// `nil` when there was a problem, or the fields have no separate object.
    let name: String?
    /// The fields' names, if they are direct members of the outermost object.
    var inlineNames: [String?]?
    /// `nil` when there was a problem
    let definition: ObjectDefinition?

    var isInline: Bool { inlineNames != nil }

    /// Its members of the outermost object; `nil` when they could not be read.
    var memberNames: [String]? {
        guard let inlineNames else { return name.map { [$0] } }
        let names = inlineNames.compactMap { $0 }
        return names.count == inlineNames.count ? names : nil
    }
}

/// A collection as far as it could be read.
struct CollectionReading {
    let node: DefinitionNode
    let fields: [FieldReading]
    /// `nil` when there was a problem
    let definition: CollectionDefinition?
}
