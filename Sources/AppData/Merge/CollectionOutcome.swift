/// The outcome of an import for the records of one collection.
public struct CollectionOutcome: Sendable, Equatable {
    /// `plannedMaintenance`.
    public let name: String
    /// `maintenance records`.
    public let plural: String
    /// Records that did not exist.
    public var added = 0
    /// Existing records that got other values.
    public var updated = 0
    /// Records of the file that changed nothing: the existing ones are kept, or are equal.
    public var skipped = 0
    /// Existing records that `replace` has kept.
    public var kept = 0
    /// Existing records that `replace` has removed.
    public var removed = 0

    public init(name: String, plural: String) {
        self.name = name
        self.plural = plural
    }

    init(of collection: CollectionDefinition) { self.init(name: collection.name, plural: collection.plural) }

    /// Records of the file.
    var readCount: Int { added + updated + skipped }
}
