import BackupCore

/// A table of the app, which is exported as a JSON array.
public struct CollectionDefinition: Sendable {
    /// The member's name in JSON; also the name of `data/NAME.json`.
    public let name: String
    /// Empty for a collection that is not in a table.
    public let table: String
    /// Fields in writing order.
    public private(set) var fields: [FieldDefinition]
    /// Index of the primary key in `fields`. Records are written in ascending order of it, and its values are unique.
    public let keyIndex: Int
    /// "car", for messages.
    public let singular: String
    /// "cars", for summaries.
    public let plural: String
    /// Index of the date whose earliest and latest value a summary shows.
    public private(set) var dateRangeIndex: Int?
    /// Whether the array is required on reading.
    public private(set) var isRequired = true
    /// Whether the array is omitted on writing when it has no records.
    public private(set) var isOmittedWhenEmpty = false
    /// Where the records come from.
    public private(set) var source = CollectionSource.table
    /// Index of the boolean field that marks records whose media file is part of the app itself.
    public private(set) var mediaExclusionIndex: Int?
    /// How to treat existing records.
    public private(set) var rules: MergeRules

    func replacing(fields: [FieldDefinition]) -> CollectionDefinition {
        var collection = self
        collection.fields = fields
        return collection
    }

    /// The same, with records that their key alone identifies, and that a merge updates.
    var identifiedByKey: CollectionDefinition {
        var collection = self
        collection.rules = MergeRules(identity: [keyIndex], note: rules.note)
        return collection
    }

    /// Whether its records have the same members, columns and values as those of another format's collection.
    func hasSameForm(as other: CollectionDefinition) -> Bool {
        table == other.table && keyIndex == other.keyIndex && source == other.source && fields.count == other.fields.count
            && zip(fields, other.fields).allSatisfy { $0.hasSameForm(as: $1) }
    }

    /// The field that identifies a record.
    public var keyField: FieldDefinition { fields[keyIndex] }

    /// The collections in which each reference of a record must find its target, by their index.
    public var requiredTargets: Set<Int> {
        Set(fields.compactMap { $0.reference.flatMap { $0.mayDangle ? nil : $0.collection } })
    }
}

/// A collection's name at the start of a line: `Cars`. Those of the built-in apps are translated; others are shown as their
/// definition has them.
public enum CollectionHeading {
    /// The plural name with a capital letter.
    public static func of(_ plural: String) -> Message {
        Message(stringLiteral: plural.prefix(1).uppercased() + plural.dropFirst())
    }
}

/// The source of a collection's records.
public enum CollectionSource: String, Sendable, CaseIterable {
    /// A table of the database.
    case table
    /// Generated from the media folder, one for each record of another collection that has a file there. A restore reads them to
    /// find the files, and to check them.
    case manifest
    /// Generated: one for each file of the media folder.
    case files
}

/// A single object of the wire format (metadata, settings) whose values are in a key/value table.
public struct ObjectDefinition: Sendable {
    /// The member's name in JSON; empty for metadata whose fields are direct members of the outermost object.
    public let name: String
    /// The table, with the columns `key` and `value`. `nil` when no value of the object is stored.
    public let table: String?
    /// Whether the object is required on reading.
    public let isRequired: Bool
    /// Fields in writing order; their `column` is the key. A dotted name is a member of an inner object:
    /// `securitySettings.hasPIN`.
    public let fields: [FieldDefinition]
    /// What `merge` does with existing values.
    public private(set) var onMerge = ExistingRecordRule.keep
    /// The same for `replace`. The user may override it in a restore.
    public private(set) var onReplace = ExistingRecordRule.update

    /// Whether the fields are direct members of the outermost object.
    public var isInline: Bool { name.isEmpty }

    /// A field's name for messages: `metadata.createdAt`.
    func path(of field: FieldDefinition) -> String { isInline ? field.name : "\(name).\(field.name)" }
}

/// A collection's rules for existing records.
public struct MergeRules: Sendable, Equatable {
    /// Indices of the fields that identify a record: only the key, unless the definition names others.
    public let identity: [Int]
    /// What `merge` does with an existing record.
    public private(set) var onMerge = ExistingRecordRule.update
    /// Index of the boolean field that marks records which `replace` does not delete.
    public private(set) var keepOnReplaceIndex: Int?
    /// A note about each record that `merge` updates.
    public private(set) var note: NoteTemplate?

    /// The collections whose records must be identified before this one's: the targets of references in the identity or the key.
    func referredCollections(_ fields: [FieldDefinition], keyIndex: Int) -> [Int] {
        (identity + [keyIndex]).compactMap { fields[$0].reference?.collection }
    }
}

/// What `merge` does with existing records.
public enum ExistingRecordRule: String, Sendable, CaseIterable {
    /// The file's values win.
    case update
    /// The existing record stays unchanged.
    case keep
}

/// A sentence about a record, with field names in braces: `Updated existing category: {displayName}`.
public struct NoteTemplate: Sendable, Equatable {
    enum Part: Sendable, Equatable {
        case text(String)
        /// Index of a field.
        case field(Int)
    }

    let parts: [Part]

    /// Why a template is invalid.
    enum Problem: Error, Equatable {
        /// An unbalanced brace.
        case brace
        /// A name that is not a field's.
        case unknownField(String)
    }

    init(_ text: String, fieldNames: [String]) throws(Problem) {
        var parts: [Part] = []
        var rest = text[...]
        while let opening = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[opening] == "{", let closing = rest[opening...].firstIndex(of: "}") else { throw .brace }
            if opening > rest.startIndex { parts.append(.text(String(rest[..<opening]))) }
            let name = String(rest[rest.index(after: opening)..<closing])
            guard let index = fieldNames.firstIndex(of: name) else { throw .unknownField(name) }
            parts.append(.field(index))
            rest = rest[rest.index(after: closing)...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    /// The sentence about one record. Values are shortened, since it goes to terminals and logs.
    func text(of record: RecordBuffer) -> Message {
        var message = Message.StringInterpolation(literalCapacity: 0, interpolationCount: parts.count)
        for part in parts {
            switch part {
            case .text(let text): message.appendLiteral(text)
            case .field(let index): message.appendInterpolation(MessageText.shortened(Self.text(record.value(index))))
            }
        }
        return Message(stringInterpolation: message)
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .null: ""
        case .integer(let number): String(number)
        case .real(let number): "\(number)"
        case .boolean(let flag): flag ? "true" : "false"
        case .text: value.string ?? ""
        case .blob(let bytes): "\(bytes.count) bytes"
        }
    }
}
