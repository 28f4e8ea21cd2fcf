import BackupCore

/// Records that can be visited repeatedly: an export file, a database.
///
/// The order of collections is that of the source; every visit gives the same records. Values are normalised (dates to UTC), but
/// not validated: `ImportValidator` does that.
public protocol RecordSource {
    var definition: AppDefinition { get }

    /// Visits everything once, in bounded memory.
    /// - Throws: `invalidContent` with "Invalid file format. …" for an unreadable source, `damagedContent`, `inputOutput`, and
    ///   any error of the visitor.
    func visit(with visitor: any RecordVisitor) throws(BackupError)
}

/// Receives the records of a `RecordSource`, in source order. Buffers are valid only during the call.
public protocol RecordVisitor: AnyObject {
    /// The metadata or settings object: once for each that is present.
    func visit(metadata: RecordBuffer) throws(BackupError)
    /// See `visit(metadata:)`.
    func visit(settings: RecordBuffer) throws(BackupError)
    /// A collection is present, and its records follow; its index in the definition.
    func beginCollection(_ collection: Int) throws(BackupError)
    /// A record of the collection with that index in the definition.
    func visit(record: RecordBuffer, of collection: Int) throws(BackupError)
    /// A member that is not in the definition: `cars.color`, or `comment` in the outermost object.
    func visit(unknownField path: String) throws(BackupError)
    /// A value in the wrong place: "cars must be an array, not an object".
    func visit(misplaced message: Message) throws(BackupError)
}

extension RecordVisitor {
    public func visit(metadata: RecordBuffer) throws(BackupError) {}
    public func visit(settings: RecordBuffer) throws(BackupError) {}
    public func beginCollection(_ collection: Int) throws(BackupError) {}
    public func visit(unknownField path: String) throws(BackupError) {}
    public func visit(misplaced message: Message) throws(BackupError) {}
}

/// Checks whether a value has its field's kind. Used by the validator, and again before each write to a database.
enum FieldConformance {
    /// - Returns: "cost must be a text with a decimal number, not a number"; `nil` when it fits. Null and missing are valid for a
    ///   nullable field and for one that is not required.
    static func problem(_ buffer: RecordBuffer, _ index: Int, _ field: FieldDefinition) -> Message? {
        let kind = buffer.kind(index)
        if field.type.holds(kind) { return nil }
        switch (field.type, kind) {
        case (_, .null): return field.mayBeNull ? nil : "\(field.name) must not be null"
        case (_, .missing): return field.mayBeMissing ? nil : "missing field \(field.name)"
        case (.integer, .number), (.integer, .real), (.epochMilliseconds, .number), (.epochMilliseconds, .real):
            return "\(field.name) must be a whole number from \(Int64.min) to \(Int64.max)"
        case (.double, .number): return "\(field.name) is a number out of range"
        case (_, let kind): return "\(field.name) must be \(name(of: field.type)), not \(name(of: kind))"
        }
    }

    private static func name(of type: FieldType) -> Message {
        switch type {
        case .integer: "a whole number"
        case .double: "a number"
        case .text: "a text"
        case .decimalText: "a text with a decimal number"
        case .boolean: "true or false"
        case .date: "a text with a date"
        case .epochMilliseconds: "a whole number of milliseconds"
        case .dates: "a list of ISO 8601 dates with a time zone"
        case .uuid: "a text with a UUID"
        case .any: "a value that SQLite can hold"
        }
    }

    static func name(of kind: RecordBuffer.Kind) -> Message {
        switch kind {
        case .missing: "missing"
        case .null: "null"
        case .integer, .real, .number: "a number"
        case .text: "a text"
        case .boolean: "true or false"
        case .blob: "a blob"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
