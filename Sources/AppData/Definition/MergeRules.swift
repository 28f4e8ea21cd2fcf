/// A collection's rules for existing records.
public struct MergeRules: Sendable, Equatable {
    /// Indices of the fields that identify a record: only the key, unless the definition names others.
    public let identity: [Int]
    /// What `merge` does with an existing record.
    public let onMerge: ExistingRecordRule
    /// Index of the boolean field that marks records which `replace` does not delete.
    public let keepOnReplaceIndex: Int?
    /// A note about each record that `merge` updates.
    public let note: NoteTemplate?

    public init(
        identity: [Int], onMerge: ExistingRecordRule = .update, keepOnReplaceIndex: Int? = nil, note: NoteTemplate? = nil
    ) {
        self.identity = identity
        self.onMerge = onMerge
        self.keepOnReplaceIndex = keepOnReplaceIndex
        self.note = note
    }

    /// The collections whose records must be identified before this one's: the targets of references in the identity or the key.
    func referredCollections(_ fields: [FieldDefinition], keyIndex: Int) -> [Int] {
        (identity + [keyIndex]).compactMap { fields[$0].reference?.collection }
    }
}
