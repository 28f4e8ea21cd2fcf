import AppData
import BackupCore
import SystemIO

/// The app's export format as a source of records. Members may come in any order, in the envelope and in every object; members
/// that the definition does not know are validated as JSON and skipped.
public struct WireReader: RecordSource, Sendable {
    public let definition: AppDefinition
    private let source: any ByteSource
    private let bufferSizeBytes: Int

    public init(_ source: any ByteSource, definition: AppDefinition, bufferSizeBytes: Int = 256 << 10) {
        self.source = source
        self.definition = definition
        self.bufferSizeBytes = bufferSizeBytes
    }

    public func visit(with visitor: any RecordVisitor) throws(BackupError) {
        let pass = WireReaderPass(
            tokenizer: JSONTokenizer(source, bufferSizeBytes: bufferSizeBytes), definition: definition, visitor: visitor)
        try pass.run()
    }
}

/// One pass over the file.
private final class WireReaderPass {
    private static let dateCountLimit = 100_000

    private let tokenizer: JSONTokenizer
    private let definition: AppDefinition
    private let visitor: any RecordVisitor

    init(tokenizer: JSONTokenizer, definition: AppDefinition, visitor: any RecordVisitor) {
        self.tokenizer = tokenizer
        self.definition = definition
        self.visitor = visitor
    }

    func run() throws(BackupError) {
        guard try tokenizer.next() == .beginObject else { throw tokenizer.failure("the outermost value is not an object") }
        let metadata = definition.metadata
        let inline = metadata.isInline ? WireObjectLayout(metadata.fields) : nil
        let inlineBuffer = RecordBuffer(fieldCount: metadata.fields.count)
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            // Swift considers texts equal that differ in normalisation; names are compared by their bytes.
            let isSame = { (other: String) in name.utf8.elementsEqual(other.utf8) }
            let token = try tokenizer.next()
            if let inline {
                if case .field(let index)? = inline.member(named: name)?.content {
                    try value(token, metadata.fields[index].type, into: inlineBuffer, index)
                    continue
                }
            } else if isSame(metadata.name) {
                if let buffer = try object(metadata, token) { try visitor.visit(metadata: buffer) }
                continue
            }
            if let settings = definition.settings, isSame(settings.name) {
                if let buffer = try object(settings, token) { try visitor.visit(settings: buffer) }
            } else if let index = definition.collections.firstIndex(where: { isSame($0.name) }) {
                try collection(index, token)
            } else {
                try visitor.visit(unknownField: MessageText.shortened(name))
                try tokenizer.skip(token)
            }
        }
        if inline != nil { try visitor.visit(metadata: inlineBuffer) }
        // The closing brace has been read: asking for another token validates the rest.
        _ = try tokenizer.next()
    }

    private func object(_ object: ObjectDefinition, _ token: JSONTokenizer.Token) throws(BackupError) -> RecordBuffer? {
        guard token == .beginObject else {
            if token == .null, !object.isRequired { return nil }
            try visitor.visit(misplaced: "\(object.name) must be an object, not \(Self.name(of: token))")
            try tokenizer.skip(token)
            return nil
        }
        let buffer = RecordBuffer(fieldCount: object.fields.count)
        try members(of: object.name, WireObjectLayout(object.fields), object.fields, into: buffer)
        return buffer
    }

    /// Reads the members of an object whose opening brace has been read.
    private func members(
        of place: String, _ layout: WireObjectLayout, _ fields: [FieldDefinition], into buffer: RecordBuffer
    ) throws(BackupError) {
        while try tokenizer.next() == .key {
            let name = tokenizer.text()
            let token = try tokenizer.next()
            switch layout.member(named: name)?.content {
            case .field(let index): try value(token, fields[index].type, into: buffer, index)
            case .object(let inner) where token == .beginObject:
                try members(of: "\(place).\(name)", inner, fields, into: buffer)
            case .object where token == .null: continue
            case .object:
                try visitor.visit(misplaced: "\(place).\(name) must be an object, not \(Self.name(of: token))")
                try tokenizer.skip(token)
            case nil:
                try visitor.visit(unknownField: "\(place).\(MessageText.shortened(name))")
                try tokenizer.skip(token)
            }
        }
    }

    private func collection(_ index: Int, _ token: JSONTokenizer.Token) throws(BackupError) {
        let collection = definition.collections[index]
        try visitor.beginCollection(index)
        guard token == .beginArray else {
            try visitor.visit(misplaced: "\(collection.name) must be an array, not \(Self.name(of: token))")
            return try tokenizer.skip(token)
        }
        let table = FieldNameTable(collection.fields)
        tokenizer.knownNames = KnownNames(collection.fields)
        let types = collection.fields.map(\.type)
        let defaults = collection.fields.enumerated().compactMap { index, field in field.missingValue.map { (index, $0) } }
        let buffer = RecordBuffer(fieldCount: collection.fields.count)
        var position = 0
        while true {
            let element = try tokenizer.next()
            switch element {
            case .endArray: return
            case .beginObject:
                buffer.clear()
                try members(of: collection.name, types, table, into: buffer)
                for (field, value) in defaults where buffer.kind(field) == .missing { buffer.set(field, value) }
                try visitor.visit(record: buffer, of: index)
            default:
                try visitor.visit(misplaced: "\(collection.name)[\(position)] must be an object, not \(Self.name(of: element))")
                try tokenizer.skip(element)
            }
            position += 1
        }
    }

    private func members(
        of place: String, _ types: [FieldType], _ table: FieldNameTable, into buffer: RecordBuffer
    ) throws(BackupError) {
        let knownNames = tokenizer.knownNames
        var expected = 0
        // No field from this one on has been read in this object.
        var firstUnmet = 0
        while true {
            while let member = try tokenizer.knownMember(from: firstUnmet, of: knownNames) {
                try value(member.token, types[member.index], into: buffer, member.index)
                firstUnmet = member.index + 1
                expected = firstUnmet
            }
            guard try tokenizer.next() == .key else { return }
            let found = try tokenizer.withText { (name) throws(BackupError) in table.index(of: name, expecting: expected) }
            guard let index = found else {
                try visitor.visit(unknownField: "\(place).\(MessageText.shortened(tokenizer.text()))")
                try tokenizer.skip(tokenizer.next())
                continue
            }
            expected = index + 1
            firstUnmet = max(firstUnmet, expected)
            try value(tokenizer.next(), types[index], into: buffer, index)
        }
    }

    private func value(
        _ token: JSONTokenizer.Token, _ type: FieldType, into buffer: RecordBuffer, _ index: Int
    ) throws(BackupError) {
        switch token {
        case .string:
            try tokenizer.withText { (bytes) throws(BackupError) in
                if type == .date, let text = DateText.normalised(bytes) {
                    buffer.set(index, text: text)
                } else {
                    buffer.set(index, .text, bytes: bytes)
                }
            }
        case .number:
            try tokenizer.withText { (bytes) throws(BackupError) in
                if type == .double, tokenizer.isInteger, let integer = JSONNumber.integerWithoutDouble(bytes) {
                    buffer.set(index, integer: integer)
                } else if type == .double || type == .any && !tokenizer.isInteger, let real = JSONNumber.double(bytes) {
                    buffer.set(index, real: real)
                } else if type == .date, definition.dateNumbers != nil, let time = ReferenceDate.time(bytes) {
                    buffer.set(index, text: ISO8601.format(time))
                } else if type == .integer || type == .epochMilliseconds || type == .any, tokenizer.isInteger,
                    let integer = JSONNumber.integer(bytes)
                {
                    buffer.set(index, integer: integer)
                } else {
                    buffer.set(index, .number, bytes: bytes)
                }
            }
        case .true: buffer.set(index, boolean: true)
        case .false: buffer.set(index, boolean: false)
        case .null: buffer.setNull(index)
        case .beginArray where type == .dates:
            if let dates = try dates() {
                buffer.set(index, text: DateList.joined(dates))
            } else {
                buffer.set(index, kind: .array)
            }
        case .beginObject where type == .any:
            if try !AnyValueText.read(tokenizer, into: buffer, index) { buffer.set(index, kind: .object) }
        default:
            buffer.set(index, kind: token == .beginArray ? .array : .object)
            try tokenizer.skip(token)
        }
    }

    /// Reads the elements of an array that has begun, in UTC.
    /// - Returns: `nil` when one of them is not a date; the whole array is skipped then.
    private func dates() throws(BackupError) -> [String]? {
        var dates: [String] = []
        var isFine = true
        while true {
            let token = try tokenizer.next()
            if token == .endArray { return isFine ? dates : nil }
            let numbers = definition.dateNumbers
            let date = try tokenizer.withText { (bytes) throws(BackupError) -> String? in
                switch token {
                case .string:
                    return DateText.normalised(bytes)
                        ?? (DateText.time(bytes) == nil ? nil : String(decoding: bytes, as: UTF8.self))
                case .number where numbers != nil: return ReferenceDate.time(bytes).map { ISO8601.format($0) }
                default: return nil
                }
            }
            if let date {
                // Each takes more memory than bytes in the file.
                guard dates.count < Self.dateCountLimit else {
                    throw tokenizer.failure("a list has more than \(Self.dateCountLimit) dates")
                }
                dates.append(date)
            } else {
                isFine = false
                try tokenizer.skip(token)
            }
        }
    }

    private static func name(of token: JSONTokenizer.Token) -> String {
        switch token {
        case .beginObject: "an object"
        case .beginArray: "an array"
        case .string: "a text"
        case .number: "a number"
        case .true, .false: "true or false"
        default: "null"
        }
    }
}

/// Finds a member's field by the bytes of its name. Members mostly come in the definition's order, so the next one is tried
/// first.
struct FieldNameTable {
    private let names: [UInt8]
    private let offsets: [Int]

    init(_ fields: [FieldDefinition]) {
        var names: [UInt8] = []
        var offsets = [0]
        for field in fields {
            names += field.name.utf8
            offsets.append(names.count)
        }
        self.names = names
        self.offsets = offsets
    }

    @inline(__always)
    func index(of name: UnsafeRawBufferPointer, expecting expected: Int) -> Int? {
        if expected < offsets.count - 1, matches(name, expected) { return expected }
        for index in 0..<offsets.count - 1 where matches(name, index) { return index }
        return nil
    }

    @inline(__always)
    private func matches(_ name: UnsafeRawBufferPointer, _ index: Int) -> Bool {
        let start = offsets[index]
        let count = offsets[index + 1] - start
        guard name.count == count else { return false }
        return names.withUnsafeBufferPointer { bytes in
            for position in 0..<count where bytes[start + position] != name[position] { return false }
            return true
        }
    }
}

/// An export file that was read in its own wire format and found valid.
public struct WireImport: Sendable {
    public let reader: WireReader
    public let summary: ImportSummary

    /// A reader for the wire format that the file declares, whether or not the file is valid.
    public static func reader(of source: any ByteSource, definition: AppDefinition) -> WireReader {
        let version = try? WireVersionScan.version(in: source, definition: definition)
        return WireReader(source, definition: version.flatMap { $0 }.map { definition.format(ofVersion: $0) } ?? definition)
    }

    /// Reads the whole file.
    /// - Parameters:
    ///   - now: the reference for "in the future".
    ///   - limitsMetadata, acceptsValues: as in `ImportValidator`.
    /// - Throws: like `ImportValidator.validate(_:)`.
    public init(
        _ source: any ByteSource, definition: AppDefinition, now: Timestamp = SystemClock.now(), limitsMetadata: Bool = true,
        acceptsValues: Bool = false, bufferSizeBytes: Int = 256 << 10
    ) throws(BackupError) {
        let version = definition.otherFormats.isEmpty ? nil : try WireVersionScan.version(in: source, definition: definition)
        let format = version.map { definition.format(ofVersion: $0) } ?? definition
        let reader = WireReader(source, definition: format, bufferSizeBytes: bufferSizeBytes)
        do throws(BackupError) {
            summary = try ImportValidator(
                definition: format, now: now, limitsMetadata: limitsMetadata, acceptsValues: acceptsValues
            ).validate(reader)
            self.reader = reader
        } catch let error where error.code == .invalidContent && format.formatVersions != definition.formatVersions {
            // Perhaps a later version of the main format. If it is not valid as that either, the error refers to the format that
            // the file declares.
            let only = definition.withoutOtherFormats
            let main = WireReader(source, definition: only, bufferSizeBytes: bufferSizeBytes)
            let validator = ImportValidator(definition: only, now: now, limitsMetadata: limitsMetadata)
            guard let summary = try? validator.validate(main) else { throw error }
            self.reader = main
            self.summary = summary
        }
    }
}

/// Determines the version of a file's wire format before its records are read: members may come in any order.
enum WireVersionScan {
    /// - Returns: `nil` when the file does not declare it, or cannot be read that far: a later full read reports the errors.
    static func version(in source: any ByteSource, definition: AppDefinition) throws(BackupError) -> Int? {
        guard let field = definition.metadata.fields.first(where: { $0.source == .schemaVersion }) else { return nil }
        do throws(BackupError) {
            let tokenizer = JSONTokenizer(source)
            guard try tokenizer.next() == .beginObject else { return nil }
            if !definition.metadata.isInline, try find(definition.metadata.name, tokenizer) != .beginObject { return nil }
            guard try find(field.name, tokenizer) == .number, tokenizer.isInteger
            else { return nil }
            return try tokenizer.withText { (bytes) throws(BackupError) in JSONNumber.integer(bytes).flatMap { Int(exactly: $0) }
            }
        } catch let error where error.code != .inputOutput {
            return nil
        }
    }

    /// Advances to a member of the object that has begun.
    /// - Returns: the first token of its value; `nil` when there is no member of that name.
    private static func find(_ name: String, _ tokenizer: JSONTokenizer) throws(BackupError) -> JSONTokenizer.Token? {
        while try tokenizer.next() == .key {
            let isFound = name.utf8.elementsEqual(tokenizer.text().utf8)
            let token = try tokenizer.next()
            if isFound { return token }
            try tokenizer.skip(token)
        }
        return nil
    }
}
