import AppData
import ArgumentParser
import BackupCore
import Export
import Operations
import SystemIO

struct AppShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print an app's definition, as it was written.",
        discussion: """
            Without a name it is that of the store's app. With --json: a summary of what the definition says.

            Example:
              backupfs app show ev-charging-tracker > my-app.yaml
              backupfs app show --json | jq -r '.collections[].name'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("A built-in app's name, or a definition's file.", valueName: "name|file"), completion: .file())
    var app: String?

    func run() throws {
        let found = try find()
        guard output.json else { return Terminal.say(Array(found.text.utf8)) }
        Terminal.say(DefinitionSummary.json(try found.load(), path: found.path).prettyText)
    }

    private func find() throws -> KnownApp {
        guard let app else { return try KnownApp.ofStore(at: store.path()) }
        if AppDefinition.builtInNames.contains(app) { return try KnownApp.builtIn(named: app) }
        if app.contains("/") || app.hasSuffix(".yaml") || (try? FileSystem.exists(app)) == true { return try KnownApp.file(app) }
        // The store's own app may have this name.
        if let own = try? KnownApp.ofStore(at: store.path()), own.check().definition?.name == app { return own }
        throw BackupError(
            .notFound, "there is no app called \(app)", remedy: "Name a definition's file, or one of: backupfs app list")
    }
}
