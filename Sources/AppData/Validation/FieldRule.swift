import BackupCore

/// The rules for a field's value, without references to objects, so that checking a valid value costs only a few comparisons. A value that
/// fails is checked again, in full, to report what is wrong.
struct FieldRule {
    let type: FieldType
    let mayBeNull: Bool
    let mayBeMissing: Bool
    private let limit: Double
    private let isLimitAllowed: Bool
    private let latest: Timestamp
    /// Whether the text must be in a set.
    private let isChosen: Bool
    /// Index of the collection that must contain the record to which the value refers, or -1.
    let referenceTarget: Int

    init(_ field: FieldDefinition, now: Timestamp) {
        type = field.type
        mayBeNull = field.mayBeNull
        mayBeMissing = field.mayBeMissing
        limit = field.limit?.value ?? -.infinity
        isLimitAllowed = field.limit?.isInclusive ?? true
        latest = field.dateRule.latest(now: now)
        isChosen = field.allowedValues != nil || field.isCurrency
        referenceTarget = field.reference.flatMap { $0.mayDangle ? nil : $0.collection } ?? -1
    }

    /// Whether the value has the field's kind, regardless of its content.
    @inline(__always)
    func fits(_ kind: RecordBuffer.Kind) -> Bool {
        switch kind {
        case .null: mayBeNull
        case .missing: mayBeMissing
        default: type.holds(kind)
        }
    }

    /// - Parameter chosen: tests membership in the set for an enumerated text.
    @inline(__always)
    func passes(_ buffer: RecordBuffer, _ index: Int, _ chosen: (Int, UnsafeRawBufferPointer) -> Bool) -> Bool {
        let kind = buffer.kind(index)
        guard fits(kind) else { return false }
        if kind == .null || kind == .missing { return true }
        switch type {
        case .boolean, .any: return true
        case .integer: return isAboveLimit(Double(buffer.integer(index)))
        case .double: return buffer.number(index).isFinite && isAboveLimit(buffer.number(index))
        case .text: return !isChosen || chosen(index, buffer.bytes(index))
        case .date:
            guard let date = DateText.time(buffer.bytes(index)) else { return false }
            return date <= latest
        case .epochMilliseconds: return EpochMilliseconds.time(buffer.integer(index)) <= latest
        case .dates:
            return DateList.texts(buffer.bytes(index))?.allSatisfy { text in
                text.withUnsafeBytes { bytes in DateText.time(bytes).map { $0 <= latest } ?? false }
            } ?? false
        case .uuid: return UUIDText.isValid(buffer.bytes(index))
        case .decimalText:
            guard let value = DecimalText.value(buffer.bytes(index)) else { return false }
            return isAboveLimit(value)
        }
    }

    @inline(__always)
    private func isAboveLimit(_ number: Double) -> Bool { isLimitAllowed ? number >= limit : number > limit }
}
