import BackupCore
import SystemIO

/// The values of one record on the way from a file or a database to its destination. Reused for every record: a million records
/// cost no allocation each.
///
/// It distinguishes what a definition distinguishes: a missing member from a null one, and a value of a wrong kind from one that
/// fits. For one thread at a time.
public final class RecordBuffer {
    /// The kind of a value; `missing` is a member that is not there.
    public enum Kind: UInt8, Sendable {
        case missing, null, integer, real, text, boolean, blob
        /// A number that the field cannot hold, in its original digits.
        case number
        /// A JSON array or object in place of a plain value; its content is dropped.
        case array, object
    }

    private struct Slot {
        var kind = Kind.missing
        /// Integer, double's bits, or 0 and 1.
        var bits: Int64 = 0
        var offset = 0
        var count = 0
    }

    /// Number of fields of the definition; indexes are below it.
    public let fieldCount: Int
    // Not arrays: this avoids bounds and uniqueness checks in loops over millions of values. The bytes are bound to SQLite
    // statements by address, which must not move before the next change. Preconditions check indices.
    private let slots: UnsafeMutablePointer<Slot>
    private var storage: UnsafeMutableRawPointer
    private var capacity: Int
    private var used = 0

    public init(fieldCount: Int) {
        self.fieldCount = fieldCount
        slots = .allocate(capacity: max(1, fieldCount))
        slots.initialize(repeating: Slot(), count: fieldCount)
        capacity = 1024
        storage = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit {
        slots.deallocate()
        storage.deallocate()
    }

    @inline(__always)
    private func slot(_ index: Int) -> UnsafeMutablePointer<Slot> {
        precondition(index >= 0 && index < fieldCount, "a record has no such field")
        return slots + index
    }

    /// Sets all fields to missing.
    public func clear() {
        slots.update(repeating: Slot(), count: fieldCount)
        used = 0
        // A single huge text must not keep its memory until the end.
        if capacity > 1 << 20 {
            storage.deallocate()
            capacity = 1024
            storage = .allocate(byteCount: capacity, alignment: 8)
        }
    }

    /// Sets a value that is there and null.
    public func setNull(_ index: Int) { slot(index).pointee.kind = .null }
    /// Sets the kind alone, for a value of a kind that its field does not allow.
    public func set(_ index: Int, kind: Kind) { slot(index).pointee.kind = kind }

    /// Sets a whole number.
    public func set(_ index: Int, integer: Int64) {
        slot(index).pointee.kind = .integer
        slot(index).pointee.bits = integer
    }

    /// Sets a number; the bits stay as they are.
    public func set(_ index: Int, real: Double) {
        slot(index).pointee.kind = .real
        slot(index).pointee.bits = Int64(bitPattern: real.bitPattern)
    }

    /// Sets a boolean.
    public func set(_ index: Int, boolean: Bool) {
        slot(index).pointee.kind = .boolean
        slot(index).pointee.bits = boolean ? 1 : 0
    }

    /// Copies the bytes.
    /// - Parameter kind: `text`, `blob` or `number`.
    public func set(_ index: Int, _ kind: Kind, bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        if let base = bytes.baseAddress { (storage + used).copyMemory(from: base, byteCount: bytes.count) }
        slot(index).pointee.kind = kind
        slot(index).pointee.offset = used
        slot(index).pointee.count = bytes.count
        used += bytes.count
    }

    /// Copies the UTF-8 of the text.
    public func set(_ index: Int, text: String) {
        var text = text
        text.withUTF8 { set(index, .text, bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Sets a time, in the form of the field type.
    public func set(_ index: Int, time: Timestamp, as type: FieldType) {
        if type == .epochMilliseconds {
            if let milliseconds = EpochMilliseconds.value(of: time) { set(index, integer: milliseconds) }
        } else {
            set(index, text: ISO8601.format(time.wholeSeconds))
        }
    }

    /// The time in a field of the type; `nil` when it contains none.
    public func time(_ index: Int, as type: FieldType) -> Timestamp? {
        switch (type, kind(index)) {
        case (.date, .text): DateText.time(bytes(index))
        case (.epochMilliseconds, .integer): EpochMilliseconds.time(integer(index))
        default: nil
        }
    }

    /// Sets a value of any kind.
    public func set(_ index: Int, _ value: FieldValue) {
        switch value {
        case .null: setNull(index)
        case .integer(let number): set(index, integer: number)
        case .real(let number): set(index, real: number)
        case .boolean(let flag): set(index, boolean: flag)
        case .text(let bytes): bytes.withUnsafeBytes { set(index, .text, bytes: $0) }
        case .blob(let bytes): bytes.withUnsafeBytes { set(index, .blob, bytes: $0) }
        }
    }

    /// Copies a whole record.
    public func set(_ record: Record) {
        clear()
        for (index, value) in record.values.enumerated() where index < fieldCount { set(index, value) }
    }

    /// The kind that was set since the last `clear()`; otherwise `missing`.
    public func kind(_ index: Int) -> Kind { slot(index).pointee.kind }
    func isNullOrMissing(_ index: Int) -> Bool {
        slot(index).pointee.kind == .null || slot(index).pointee.kind == .missing
    }

    /// For `integer` only.
    public func integer(_ index: Int) -> Int64 { slot(index).pointee.bits }
    /// For `real` only.
    public func real(_ index: Int) -> Double { Double(bitPattern: UInt64(bitPattern: slot(index).pointee.bits)) }
    /// For `integer` and `real`, the two kinds of values in a `double` field.
    func number(_ index: Int) -> Double { kind(index) == .integer ? Double(integer(index)) : real(index) }
    /// For `boolean` only.
    public func boolean(_ index: Int) -> Bool { slot(index).pointee.bits != 0 }

    /// The bytes of a text, blob or number; valid until the buffer changes. The address is never null, so that an empty text is
    /// not mistaken for a missing one.
    public func bytes(_ index: Int) -> UnsafeRawBufferPointer {
        let slot = slot(index).pointee
        return UnsafeRawBufferPointer(start: storage + slot.offset, count: slot.count)
    }

    /// The text; `nil` for every other kind.
    public func string(_ index: Int) -> String? {
        slot(index).pointee.kind == .text ? String(decoding: bytes(index), as: UTF8.self) : nil
    }

    /// The standalone value; null if it is missing or has no value.
    public func value(_ index: Int) -> FieldValue {
        switch slot(index).pointee.kind {
        case .missing, .null, .array, .object: .null
        case .integer: .integer(integer(index))
        case .real: .real(real(index))
        case .boolean: .boolean(boolean(index))
        case .text, .number: .text(Array(bytes(index)))
        case .blob: .blob(Array(bytes(index)))
        }
    }

    /// A copy of all values.
    public func record() -> Record { Record(values: (0..<fieldCount).map(value)) }

    private func reserve(_ count: Int) {
        guard used + count > capacity else { return }
        var newCapacity = capacity
        while newCapacity < used + count { newCapacity *= 2 }
        let grown = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 8)
        grown.copyMemory(from: storage, byteCount: used)
        storage.deallocate()
        storage = grown
        capacity = newCapacity
    }
}

/// One value of a record. Two texts are equal only if their bytes are: é as one code point differs from é as two.
public enum FieldValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, stored as bytes: Swift considers texts equal that differ in normalisation.
    case text([UInt8])
    case boolean(Bool)
    case blob([UInt8])

    /// The text in UTF-8.
    public static func text(_ text: String) -> FieldValue { .text(Array(text.utf8)) }

    /// The text, if it is one.
    public var string: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A key for messages.
    public var messageText: String {
        switch self {
        case .integer(let number): String(number)
        case .text(let bytes): MessageText.shortened(bytes)
        default: ""
        }
    }
}

/// A standalone record, with one value per field of its definition. Streams use `RecordBuffer`, which avoids allocations.
public struct Record: Sendable, Hashable {
    /// In the order of the definition's fields.
    public var values: [FieldValue]

    public init(values: [FieldValue]) { self.values = values }
}

/// The form of a field's value on the wire and in the database.
public enum FieldType: String, Sendable, CaseIterable {
    /// An integer from -2^63 to 2^63-1.
    case integer
    /// A finite IEEE 754 double; written as the shortest digits that read back as the same bits, always with `.0` or exponent.
    case double
    case text
    /// A decimal number inside a JSON string ("12.50"), stored verbatim: money.
    case decimalText
    case boolean
    /// ISO 8601 with a time zone; stored as UTC text.
    case date
    /// Milliseconds since 1970 in UTC, as an integer.
    case epochMilliseconds
    /// A list of dates; stored as a JSON array in a text.
    case dates
    /// A text of 32 hexadecimal digits with hyphens (8-4-4-4-12), stored verbatim.
    case uuid
    /// Any SQLite value, exactly: integers, doubles, texts and null as in JSON, `{"blob": BASE64}`, `{"text": BASE64}` for a text
    /// that is not UTF-8, and `{"real": "inf"}` for a number that JSON cannot express.
    case any

    /// Whether values of a kind can have this type; the field decides about null and missing.
    @inline(__always)
    public func holds(_ kind: RecordBuffer.Kind) -> Bool {
        switch kind {
        // An integer that no double equals stays one: SQLite stores both in a column.
        case .integer: self == .integer || self == .epochMilliseconds || self == .any || self == .double
        case .real: self == .double || self == .any
        case .boolean: self == .boolean
        case .text:
            switch self {
            case .text, .decimalText, .date, .dates, .uuid, .any: true
            case .integer, .double, .boolean, .epochMilliseconds: false
            }
        case .blob: self == .any
        case .null, .missing, .number, .array, .object: false
        }
    }

    /// Whether a value is a point in time.
    public var isTime: Bool { self == .date || self == .epochMilliseconds }
}
