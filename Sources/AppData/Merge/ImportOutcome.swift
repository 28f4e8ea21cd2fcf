import BackupCore

/// What an import did, or, when it ran on a copy, what it would do.
public struct ImportOutcome: Sendable, Equatable {
    /// Notes after which they are only counted.
    static let noteLimit = 100

    public let strategy: ImportStrategy
    /// The file's collections in their order, then those that only the data had.
    public internal(set) var collections: [CollectionOutcome]
    /// What the definition wants to be said of records that were updated.
    public private(set) var notes: [Message] = []
    /// How many more there would be.
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

    /// Adds what was in a collection before, and is gone.
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
