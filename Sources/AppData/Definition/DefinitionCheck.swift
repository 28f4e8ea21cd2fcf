/// What was found by reading a definition.
public struct DefinitionCheck: Sendable {
    /// `nil` when there is any problem.
    public let definition: AppDefinition?
    /// All that could be found, in the order of the lines.
    public let problems: [DefinitionProblem]
    /// What is allowed, and surely not meant.
    public let warnings: [DefinitionProblem]
    /// The tables of the database that are named, each line's by itself.
    public let tables: [DefinitionTable]
}
