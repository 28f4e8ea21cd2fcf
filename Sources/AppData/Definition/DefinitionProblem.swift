import BackupCore

/// A problem in a definition, or something without effect.
public struct DefinitionProblem: Sendable, Equatable {
    /// Counted from 1.
    public let line: Int
    /// A sentence for a person, without the line and without a full stop: "the definition has no title".
    public let message: Message
    /// What to do about it, as a sentence with a full stop.
    public let remedy: Message

    /// The messages quote text from the file, which may be of any length and content if it is not a definition.
    private static let textLimit = 1_000

    public init(line: Int, message: Message, remedy: Message) {
        self.line = line
        self.message = message.shortened(limit: Self.textLimit)
        self.remedy = remedy.shortened(limit: Self.textLimit)
    }

    /// "line 3: the definition has no title".
    public var text: Message { "line \(line): \(message)" }
}

/// The findings from reading a definition. Reading continues after a problem, so that all of them are reported together; a
/// definition with problems is never used.
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

/// A table that a definition names, with the lines that name it and its columns. Available as far as it could be read, also for a
/// definition with problems.
public struct DefinitionTable: Sendable, Equatable {
    /// A column that the definition names.
    public struct Column: Sendable, Equatable {
        /// As written in the definition.
        public let name: String
        /// Of the first place that names it, from 1.
        public let line: Int
    }

    /// As written in the definition.
    public let name: String
    /// Of the first place that names it, from 1.
    public let line: Int
    /// Each once.
    public let columns: [Column]
    /// Whether a restore writes whole rows, as for collections: values of columns that are not named would be lost. Key/value
    /// tables keep their other rows.
    public let isWrittenWhole: Bool
}

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
