/// The findings from reading a definition. Reading continues after a problem, so that all of them are reported together; a definition with problems is
/// never used.
final class DefinitionFindings {
    private(set) var problems: [DefinitionProblem] = []
    private(set) var warnings: [DefinitionProblem] = []
    private(set) var tables: [DefinitionTable] = []
    /// Members that exist under a misspelt name.
    private var misspelt: Set<String> = []

    func add(_ problem: DefinitionProblem) { problems.append(problem) }
    func add(warning: DefinitionProblem) { warnings.append(warning) }
    func add(_ table: DefinitionTable) { tables.append(table) }

    func noteMisspelling(of name: String, at place: String) { misspelt.insert("\(place).\(name)") }
    func isMisspelt(_ name: String, at place: String) -> Bool { misspelt.contains("\(place).\(name)") }

    /// In line order; on one line, in the order in which they were found.
    static func sorted(_ problems: [DefinitionProblem]) -> [DefinitionProblem] {
        problems.enumerated().sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }.map(\.element)
    }
}
