import BackupCore

/// Checks one value against its field's rules.
struct FieldChecker {
    let now: Timestamp

    /// - Returns: the problem, beginning with the field's name; `nil` when there is none.
    func problem(_ buffer: RecordBuffer, _ index: Int, _ field: FieldDefinition) -> Message? {
        if let problem = FieldConformance.problem(buffer, index, field) { return problem }
        if buffer.isNullOrMissing(index) { return nil }
        switch field.type {
        case .boolean, .any: return nil
        case .integer: return limitProblem(Double(buffer.integer(index)), field)
        case .double:
            return buffer.number(index).isFinite ? limitProblem(buffer.number(index), field) : "\(field.name) is not finite"
        case .decimalText: return decimalProblem(buffer.bytes(index), field)
        case .date: return dateProblem(buffer.bytes(index), field)
        case .epochMilliseconds:
            return lateProblem(EpochMilliseconds.time(buffer.integer(index)), String(buffer.integer(index)), field)
        case .dates:
            guard let dates = DateList.texts(buffer.bytes(index)) else { return "\(field.name) is not a list of dates" }
            return dates.lazy.compactMap { text in text.withUnsafeBytes { dateProblem($0, field) } }.first
        case .uuid:
            let bytes = buffer.bytes(index)
            return UUIDText.isValid(bytes) ? nil : "\(field.name) \"\(MessageText.shortened(bytes))\" is not a UUID"
        case .text: return textProblem(buffer.bytes(index), field)
        }
    }

    private func limitProblem(_ number: Double, _ field: FieldDefinition) -> Message? {
        guard let limit = field.limit, !limit.allows(number) else { return nil }
        return "\(field.name) \(limit.requirement)"
    }

    private func decimalProblem(_ bytes: UnsafeRawBufferPointer, _ field: FieldDefinition) -> Message? {
        guard let number = DecimalText.value(bytes) else {
            return "\(field.name) \"\(MessageText.shortened(bytes))\" is not a decimal number"
        }
        return limitProblem(number, field)
    }

    private func dateProblem(_ bytes: UnsafeRawBufferPointer, _ field: FieldDefinition) -> Message? {
        guard let date = DateText.time(bytes) else {
            return "\(field.name) \"\(MessageText.shortened(bytes))\" is not an ISO 8601 date with a time zone"
        }
        return lateProblem(date, MessageText.shortened(bytes), field)
    }

    private func lateProblem(_ date: Timestamp, _ text: String, _ field: FieldDefinition) -> Message? {
        guard date > field.dateRule.latest(now: now) else { return nil }
        if case .withinYears(let years) = field.dateRule { return "\(field.name) \(text) is more than \(years) years ahead" }
        return "\(field.name) \(text) is in the future"
    }

    private func textProblem(_ bytes: UnsafeRawBufferPointer, _ field: FieldDefinition) -> Message? {
        if let allowed = field.allowedValues, !allowed.contains(bytes) {
            return "\(field.name) \"\(MessageText.shortened(bytes))\" is not known"
        }
        if field.isCurrency, !CurrencyCodes.all.contains(bytes) {
            return "\(field.name) \"\(MessageText.shortened(bytes))\" is not a currency code"
        }
        return nil
    }
}

/// The rules for a field's value, without references to objects, so that checking a valid value costs only a few comparisons. A
/// value that fails is checked again, in full, to report what is wrong.
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

/// A collection's rules, prepared once for all its records.
final class ValidationPlan: Sendable {
    let rules: [FieldRule]
    let keyIndex: Int
    let keyType: FieldType
    /// -1 when there is none.
    let dateRangeIndex: Int
    /// For each field the set of its allowed texts.
    let sets: [ByteStringSet?]

    init(_ collection: CollectionDefinition, now: Timestamp) {
        rules = collection.fields.map { FieldRule($0, now: now) }
        keyIndex = collection.keyIndex
        keyType = collection.keyField.type
        dateRangeIndex = collection.dateRangeIndex ?? -1
        sets = collection.fields.map { field in
            field.allowedValues ?? (field.isCurrency ? CurrencyCodes.all : nil)
        }
    }
}
