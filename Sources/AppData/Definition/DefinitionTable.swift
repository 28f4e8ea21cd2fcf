/// A table that a definition names, with the lines that name it and its columns. Available as far as it could be read, also for a definition with problems.
public struct DefinitionTable: Sendable, Equatable {
    public struct Column: Sendable, Equatable {
        public let name: String
        public let line: Int
    }

    public let name: String
    public let line: Int
    public let columns: [Column]
    /// Whether a restore writes whole rows, as for collections: values of columns that are not named would be lost. Key/value tables keep their other rows.
    public let isWrittenWhole: Bool
}
