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
    public let reference: FieldReference?
    public let dateRule: DateRule
    /// Columns that are a row's name together: the field then has no column, and its value is made of theirs as SQL writes them
    /// (`'a',1`).
    public let keyColumns: [String]
    /// What is written when a key/value table has no such row.
    public let defaultValue: String?
    /// Whether the text names a file of the media folder.
    public let isMedia: Bool

    public init(
        name: String, column: String, type: FieldType, source: FieldSource = .stored, isRequired: Bool = true,
        isNullable: Bool = false, allowedValues: ByteStringSet? = nil, isCurrency: Bool = false, limit: FieldLimit? = nil,
        reference: FieldReference? = nil, dateRule: DateRule = .any, keyColumns: [String] = [], defaultValue: String? = nil,
        isMedia: Bool = false
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
        self.isMedia = isMedia
    }
}
