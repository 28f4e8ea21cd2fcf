/// A table that a definition names, with the lines that name it and its columns. It is known as far as it could be read, also from a
/// definition with problems.
public struct DefinitionTable: Sendable, Equatable {
    public struct Column: Sendable, Equatable {
        public let name: String
        public let line: Int
    }

    public let name: String
    public let line: Int
    public let columns: [Column]
    /// Whether a restore writes whole rows, as it does for collections: what columns hold that are not named would be lost. Tables of keys and
    /// values keep their other rows.
    public let isWrittenWhole: Bool
}
