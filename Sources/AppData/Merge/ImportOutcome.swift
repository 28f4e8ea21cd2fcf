import BackupCore

/// What an import did, or would do if it ran on a copy.
public struct ImportOutcome: Sendable, Equatable {
    /// The maximum number of notes; further ones are only counted.
    static let noteLimit = 100

    public let strategy: ImportStrategy
    /// The file's collections in order, followed by those that only the data had.
    public internal(set) var collections: [CollectionOutcome]
    /// Notes that the definition asks for about updated records.
    public private(set) var notes: [Message] = []
    /// The number of further notes.
    public private(set) var furtherNoteCount = 0

    public init(strategy: ImportStrategy, collections: [CollectionOutcome]) {
        self.strategy = strategy
        self.collections = collections
    }

    init(strategy: ImportStrategy, of definition: AppDefinition) {
        self.init(strategy: strategy, collections: definition.collections.map(CollectionOutcome.init(of:)))
    }

    mutating func note(_ text: Message) {
        if notes.count < Self.noteLimit { notes.append(text) } else { furtherNoteCount += 1 }
    }

    /// Adds the number of records removed from a collection.
    public mutating func removed(_ count: Int, of collection: CollectionDefinition) {
        if let index = collections.firstIndex(where: { $0.name == collection.name }) {
            collections[index].removed += count
        } else if count > 0 {
            var outcome = CollectionOutcome(of: collection)
            outcome.removed = count
            collections.append(outcome)
        }
    }
}
