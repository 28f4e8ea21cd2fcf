/// One member of a record, as the wire and the database have it.
public struct FieldDefinition: Sendable {
    /// The member's name in JSON, exactly.
    public let name: String
    /// The column, or the key in a key/value table.
    public let column: String
    public let type: FieldType
    public let source: FieldSource
    /// Whether the member must be there when it is read.
    public let isRequired: Bool
    /// Whether the value may be null; then the member may also be missing, and is left out when written.
    public let isNullable: Bool
    /// All values there are, when they are numbered.
    public let allowedValues: ByteStringSet?
    /// Whether it must be an ISO 4217 code, or a symbol from `CurrencyCodes`.
    public let isCurrency: Bool
    public let limit: FieldLimit?
    public private(set) var reference: FieldReference?
    public let dateRule: DateRule
    /// Columns that are a row's name together: the field then has no column, and its value is made of theirs as SQL writes them
    /// (`'a',1`).
    public let keyColumns: [String]
    /// What is written when a key/value table has no such row.
    public let defaultValue: String?
    /// Whether the text names a file of the media folder.
    public let isMedia: Bool
    /// What it tells of the media folder, in a collection that lies in no table.
    public let mediaValue: MediaValue?
    /// Whether a restore writes the value; if not, what the app has stays.
    public let isRestored: Bool
    /// Of a collection's field: what it is when the member is missing.
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

    /// Whether the member may be missing when it is read.
    public var mayBeMissing: Bool { isNullable || !isRequired }
    /// Whether null is a value of it. What is missing may have a value that is none.
    public var mayBeNull: Bool { isNullable || (!isRequired && missingValue == nil) }
}
