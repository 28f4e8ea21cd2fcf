import BackupCore

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
