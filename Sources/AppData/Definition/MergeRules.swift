/// What a collection says of records that are there already.
public struct MergeRules: Sendable, Equatable {
    /// Indices of the fields that make two records the same thing: the key alone, unless the definition names others.
    public let identity: [Int]
    /// What `merge` does with a record that is there.
    public let onMerge: ExistingRecordRule
    /// Index of the boolean whose records `replace` does not delete.
    public let keepOnReplaceIndex: Int?
    /// Said of each record that `merge` updates.
    public let note: NoteTemplate?

    public init(
        identity: [Int], onMerge: ExistingRecordRule = .update, keepOnReplaceIndex: Int? = nil, note: NoteTemplate? = nil
    ) {
        self.identity = identity
        self.onMerge = onMerge
        self.keepOnReplaceIndex = keepOnReplaceIndex
        self.note = note
    }

    /// The collections whose records must be told apart before this one's: those that the identity, or the key, refers to.
    func referredCollections(_ fields: [FieldDefinition], keyIndex: Int) -> [Int] {
        (identity + [keyIndex]).compactMap { fields[$0].reference?.collection }
    }
}
