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
