/// A standalone record, with one value per field of its definition. Streams use `RecordBuffer`, which avoids allocations.
public struct Record: Sendable, Hashable {
    public var values: [FieldValue]

    public init(values: [FieldValue]) { self.values = values }
}
