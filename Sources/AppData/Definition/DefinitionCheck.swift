/// The result of reading a definition.
public struct DefinitionCheck: Sendable {
    /// `nil` when there is any problem
    public let definition: AppDefinition?
    /// All problems found, in line order.
    public let problems: [DefinitionProblem]
    /// Constructs that are allowed, but surely not intended.
    public let warnings: [DefinitionProblem]
    /// The database tables that the definition names, one for each line that names one.
    public let tables: [DefinitionTable]
}
