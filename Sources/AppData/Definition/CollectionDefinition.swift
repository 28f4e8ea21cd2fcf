/// A table of the app, which is exported as a JSON array.
public struct CollectionDefinition: Sendable {
    /// The member's name in JSON; also the name of `data/NAME.json`.
    public let name: String
    /// Empty for a collection that is not in a table.
    public let table: String
    public let source: CollectionSource
    /// Fields in writing order.
    public private(set) var fields: [FieldDefinition]
    /// Index of the primary key in `fields`. Records are written in ascending order of it, and its values are unique.
    public let keyIndex: Int
    /// "car", for messages.
    public let singular: String
    /// "cars", for summaries.
    public let plural: String
    /// Index of the boolean field that marks records whose media file is part of the app itself.
    public let mediaExclusionIndex: Int?
    /// Index of the date whose earliest and latest value a summary shows.
    public let dateRangeIndex: Int?
    /// Whether the array is required on reading.
    public let isRequired: Bool
    /// Whether the array is omitted on writing when it has no records.
    public let isOmittedWhenEmpty: Bool
    /// How to treat existing records.
    public let rules: MergeRules

    public init(
        name: String, table: String, fields: [FieldDefinition], keyIndex: Int, singular: String, plural: String,
        dateRangeIndex: Int? = nil, isRequired: Bool = true, isOmittedWhenEmpty: Bool = false, source: CollectionSource = .table,
        mediaExclusionIndex: Int? = nil, rules: MergeRules? = nil
    ) {
        self.name = name
        self.table = table
        self.fields = fields
        self.keyIndex = keyIndex
        self.singular = singular
        self.plural = plural
        self.dateRangeIndex = dateRangeIndex
        self.isRequired = isRequired
        self.isOmittedWhenEmpty = isOmittedWhenEmpty
        self.source = source
        self.mediaExclusionIndex = mediaExclusionIndex
        self.rules = rules ?? MergeRules(identity: [keyIndex])
    }

    func replacing(fields: [FieldDefinition]) -> CollectionDefinition {
        var collection = self
        collection.fields = fields
        return collection
    }

    public var keyField: FieldDefinition { fields[keyIndex] }
}
