import TestSupport
import Testing

/// A restore that is tried with every fault at every call.
struct Scenario: Sendable, CustomTestStringConvertible {
    /// What the app does meanwhile.
    enum App: Sendable {
        case isClosed
        /// It has its database open until the store has been opened again, and dies then.
        case goesOn
        /// It has its database open, and dies when the restore has ended, however: the next program that opens the database
        /// recovers its whole log.
        case dies
    }

    let name: String
    var template = Template.Kind.diary
    var strategy = "replace"
    /// A file of the template's inputs, or a backup's name.
    let source: String
    var app = App.isClosed
    var isPreview = false

    var testDescription: String { name }

    static let archives = ["replace", "merge", "skip"].map {
        Scenario(name: "\($0), archive with media", strategy: $0, source: "other.zip")
    }

    static let whole = Scenario(name: "replace, whole database with a rollback journal", template: .whole, source: "other.sqlite")

    static let others =
        ["replace", "merge", "skip"].map { Scenario(name: "\($0), JSON without media", strategy: $0, source: "other.json") } + [
            Scenario(name: "replace, SQLite file", source: "other.sqlite"),
            whole,
            Scenario(name: "replace, backup by its name", source: "first"),
            Scenario(name: "merge, backup by its name", strategy: "merge", source: "first"),
            Scenario(name: "replace, archive with media, app running", source: "other.zip", app: .goesOn),
            Scenario(name: "merge, archive with media, app running", strategy: "merge", source: "other.zip", app: .goesOn),
            Scenario(name: "replace, archive with media, app dying", source: "other.zip", app: .dies),
            Scenario(name: "merge, archive with media, app dying", strategy: "merge", source: "other.zip", app: .dies),
        ]

    static let previews = ["replace", "merge"].map {
        Scenario(name: "preview of \($0), archive with media", strategy: $0, source: "other.zip", isPreview: true)
    }

    /// The command that is disturbed.
    func arguments(_ world: World) -> [String] {
        let path = source.contains(".") ? "\(world.inputsPath)/\(source)" : source
        return ["restore", path, "--strategy", strategy, isPreview ? "--dry-run" : "--yes"]
    }

    func state(_ world: World) throws -> String {
        try AppState.describe(database: Template.databasePath(template, world), media: Template.mediaPath(template, world))
    }
}
