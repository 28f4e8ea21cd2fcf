/// What an import did with the records of one collection.
public struct CollectionOutcome: Sendable, Equatable {
    /// `plannedMaintenance`.
    public let name: String
    /// `maintenance records`.
    public let plural: String
    /// Records that were not there.
    public var added = 0
    /// Records that were there and got other values.
    public var updated = 0
    /// Records of the file that changed nothing: those that are there stay as they are, or are the same.
    public var skipped = 0
    /// Of those that were there, what `replace` has left as it was.
    public var kept = 0
    /// Of those that were there, what `replace` has taken away.
    public var removed = 0

    public init(name: String, plural: String) {
        self.name = name
        self.plural = plural
    }

    init(of collection: CollectionDefinition) { self.init(name: collection.name, plural: collection.plural) }

    /// Records of the file.
    var readCount: Int { added + updated + skipped }
}
