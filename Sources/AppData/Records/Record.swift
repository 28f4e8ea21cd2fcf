/// A record by itself, one value for each field of its definition. Streams use `RecordBuffer`, which costs no allocation.
public struct Record: Sendable, Hashable {
    public var values: [FieldValue]

    public init(values: [FieldValue]) { self.values = values }
}
