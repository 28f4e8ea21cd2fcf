import BackupCore

/// One member of a record, on the wire and in the database.
public struct FieldDefinition: Sendable {
    /// The member's name in JSON, exactly.
    public let name: String
    /// The column, or the key in a key/value table.
    public let column: String
    public let type: FieldType
    /// Where the value comes from.
    public private(set) var source = FieldSource.stored
    /// Whether the member is required on reading.
    public private(set) var isRequired = true
    /// Whether the value may be null; then the member may also be missing, and is omitted on writing.
    public private(set) var isNullable = false
    /// All allowed values, if they are enumerated.
    public private(set) var allowedValues: ByteStringSet?
    /// Whether it must be an ISO 4217 code, or a symbol from `CurrencyCodes`.
    public private(set) var isCurrency = false
    public private(set) var limit: FieldLimit?
    public private(set) var reference: FieldReference?
    /// Which dates a restore accepts.
    public private(set) var dateRule = DateRule.any
    /// Columns that together form a row's key: the field then has no column, and its value combines theirs as SQL literals
    /// (`'a',1`).
    public private(set) var keyColumns: [String] = []
    /// The value to write when a key/value table has no such row.
    public private(set) var defaultValue: String?
    /// For a collection's field: the value of a missing member.
    public private(set) var missingValue: FieldValue?
    /// Whether a restore writes the value; if not, the app's value stays.
    public private(set) var isRestored = true
    /// Whether the text names a file of the media folder.
    public private(set) var isMedia = false
    /// The value from the media folder that it contains, in a collection that is not in a table.
    public private(set) var mediaValue: MediaValue?

    func replacing(reference: FieldReference?) -> FieldDefinition {
        var field = self
        field.reference = reference
        return field
    }

    /// Whether it has the same values, in the same column.
    func hasSameForm(as other: FieldDefinition) -> Bool {
        name == other.name && column == other.column && type == other.type && keyColumns == other.keyColumns
            && isRequired == other.isRequired && isNullable == other.isNullable && missingValue == other.missingValue
            && reference?.collection == other.reference?.collection && isRestored == other.isRestored
    }

    /// Whether the member may be missing on reading.
    public var mayBeMissing: Bool { isNullable || !isRequired }
    /// Whether null is a valid value. A missing member may have a value that is not null.
    public var mayBeNull: Bool { isNullable || (!isRequired && missingValue == nil) }
}

/// The source of a metadata or settings field's value.
public enum FieldSource: String, Sendable, CaseIterable {
    /// A column of the collection's table, or a row of the key/value table.
    case stored
    /// The time of the export; not stored.
    case creationTime
    /// The definition's schema version; a row of the key/value table repeats it for other readers of the database.
    case schemaVersion
    /// Always the definition's default; not stored.
    case constant
}

/// A lower limit for a field's value.
public struct FieldLimit: Sendable, Equatable {
    /// The limit itself, which `isInclusive` allows or not.
    public let value: Double
    /// As written in the definition, for messages.
    public let text: String
    /// Whether the limit itself is allowed.
    public let isInclusive: Bool

    /// - Returns: false for a value below the limit, and for one that is not a number.
    public func allows(_ number: Double) -> Bool { isInclusive ? number >= value : number > value }

    /// "must not be negative", "must be above 0".
    var requirement: Message {
        if isInclusive { return value == 0 ? "must not be negative" : "must be at least \(text)" }
        return "must be above \(text)"
    }
}

/// Marks a field as the key of a record in another collection.
public struct FieldReference: Sendable, Equatable {
    /// Index into `AppDefinition.collections`.
    public let collection: Int
    /// The name of that collection's key field.
    public let field: String
    /// Whether the record may be missing.
    public let mayDangle: Bool
}

/// The dates that a field accepts.
public enum DateRule: Sendable, Equatable {
    case any
    /// At most 24 hours from now: clocks and time zones differ.
    case notInFuture
    /// At most this many years (of 365.25 days) from now: for planned events.
    case withinYears(Int)

    private static let slackSeconds: Int64 = 86_400
    private static let yearSeconds: Int64 = 31_557_600

    /// The latest allowed moment.
    func latest(now: Timestamp) -> Timestamp {
        switch self {
        case .any: Timestamp(seconds: .max, nanoseconds: 999_999_999)
        case .notInFuture: Timestamp(seconds: now.seconds + Self.slackSeconds, nanoseconds: now.nanoseconds)
        case .withinYears(let years):
            Timestamp(seconds: now.seconds + Int64(years) * Self.yearSeconds, nanoseconds: now.nanoseconds)
        }
    }
}

/// The values from the media folder that a collection's field can have.
public enum MediaValue: String, Sendable, CaseIterable {
    /// The key of the record that has the file.
    case recordKey
    /// The record's name for its file.
    case recordPath
    /// The file's path in the archive, and its last component.
    case archivePath
    case archiveName
    /// The file's path in the media folder, and its last component.
    case path
    case name
    /// In bytes.
    case size
    /// Lower-case hexadecimal digits. Null for a file that has not been read since it was written: the next backup reads it.
    case md5
    case sha256
    case modificationTime
    /// `photos/2024/06/<md5>.jpg`: a name from the content and the month. Null when the MD5 is.
    case storageKey

    /// Whether the file must have been read to compute it.
    var isOfChecksum: Bool { self == .md5 || self == .sha256 || self == .storageKey }

    /// The allowed types of a field with this value.
    var types: [FieldType] {
        switch self {
        case .recordKey: [.integer, .text, .uuid]
        case .size: [.integer]
        case .modificationTime: [.date, .epochMilliseconds]
        case .recordPath, .archivePath, .archiveName, .path, .name, .md5, .sha256, .storageKey: [.text]
        }
    }

    /// Whether it exists only for records of other collections.
    var isOfRecord: Bool {
        switch self {
        case .recordKey, .recordPath, .archivePath, .archiveName: true
        case .path, .name, .size, .md5, .sha256, .modificationTime, .storageKey: false
        }
    }
}
