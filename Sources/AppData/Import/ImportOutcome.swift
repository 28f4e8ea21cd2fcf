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

/// The outcome of an import for the records of one collection.
public struct CollectionOutcome: Sendable, Equatable {
    /// `plannedMaintenance`.
    public let name: String
    /// `maintenance records`.
    public let plural: String
    /// Records that did not exist.
    public var added = 0
    /// Existing records that got other values.
    public var updated = 0
    /// Records of the file that changed nothing: the existing ones are kept, or are equal.
    public var skipped = 0
    /// Existing records that `replace` has kept.
    public var kept = 0
    /// Existing records that `replace` has removed.
    public var removed = 0

    public init(name: String, plural: String) {
        self.name = name
        self.plural = plural
    }

    init(of collection: CollectionDefinition) { self.init(name: collection.name, plural: collection.plural) }

    /// Records of the file.
    var readCount: Int { added + updated + skipped }
}
