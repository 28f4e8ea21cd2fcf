/// One member of a record, on the wire and in the database.
public struct FieldDefinition: Sendable {
    /// The member's name in JSON, exactly.
    public let name: String
    /// The column, or the key in a key/value table.
    public let column: String
    public let type: FieldType
    public let source: FieldSource
    /// Whether the member is required on reading.
    public let isRequired: Bool
    /// Whether the value may be null; then the member may also be missing, and is omitted on writing.
    public let isNullable: Bool
    /// All allowed values, if they are enumerated.
    public let allowedValues: ByteStringSet?
    /// Whether it must be an ISO 4217 code, or a symbol from `CurrencyCodes`.
    public let isCurrency: Bool
    public let limit: FieldLimit?
    public private(set) var reference: FieldReference?
    public let dateRule: DateRule
    /// Columns that together form a row's key: the field then has no column, and its value combines theirs as SQL literals (`'a',1`).
    public let keyColumns: [String]
    /// The value to write when a key/value table has no such row.
    public let defaultValue: String?
    /// Whether the text names a file of the media folder.
    public let isMedia: Bool
    /// The value from the media folder that it contains, in a collection that is not in a table.
    public let mediaValue: MediaValue?
    /// Whether a restore writes the value; if not, the app's value stays.
    public let isRestored: Bool
    /// For a collection's field: the value of a missing member.
    public let missingValue: FieldValue?

    public init(
        name: String, column: String, type: FieldType, source: FieldSource = .stored, isRequired: Bool = true,
        isNullable: Bool = false, allowedValues: ByteStringSet? = nil, isCurrency: Bool = false, limit: FieldLimit? = nil,
        reference: FieldReference? = nil, dateRule: DateRule = .any, keyColumns: [String] = [], defaultValue: String? = nil,
        missingValue: FieldValue? = nil, isRestored: Bool = true, isMedia: Bool = false, mediaValue: MediaValue? = nil
    ) {
        self.name = name
        self.column = column
        self.type = type
        self.source = source
        self.isRequired = isRequired
        self.isNullable = isNullable
        self.allowedValues = allowedValues
        self.isCurrency = isCurrency
        self.limit = limit
        self.reference = reference
        self.dateRule = dateRule
        self.keyColumns = keyColumns
        self.defaultValue = defaultValue
        self.missingValue = missingValue
        self.isRestored = isRestored
        self.isMedia = isMedia
        self.mediaValue = mediaValue
    }

    func replacing(reference: FieldReference?) -> FieldDefinition {
        var field = self
        field.reference = reference
        return field
    }

    /// Whether the member may be missing on reading.
    public var mayBeMissing: Bool { isNullable || !isRequired }
    /// Whether null is a valid value. A missing member may have a value that is not null.
    public var mayBeNull: Bool { isNullable || (!isRequired && missingValue == nil) }
}
