import AppData
import ArgumentParser
import BackupCore
import Export
import Operations

struct AppListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the known apps: the store's own, and the built-in ones.",
        discussion: """
            Example:
              backupfs app list
              backupfs app list --json | jq -r '.[].name'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let path = try store.path()
        // Without a store, only the built-in apps are listed; a store named explicitly must exist.
        let storePath = store.store != nil || StoreLocation.hasStore(path) ? path : nil
        let apps = try KnownApp.all(storePath: storePath).map { ($0, $0.check()) }
        if output.json {
            Terminal.say(OrderedJSON.array(apps.map(describe)).prettyText)
        } else {
            Terminal.say(verbatim: Table.text(["NAME", "TITLE", "FROM"], apps.map(row)))
        }
    }

    private func row(_ app: KnownApp, _ check: DefinitionCheck) -> [String] {
        let place: Message = app.path.map(Message.verbatim) ?? "built in"
        let title: Message =
            check.definition.map { .verbatim($0.title) } ?? "(it has problems: backupfs app check \(app.path ?? ""))"
        let origin: Message = app.isOfStore ? "\(place), the store's app" : place
        return [check.definition?.name ?? "?", Terminal.language.text(title), Terminal.language.text(origin)]
    }

    private func describe(_ app: KnownApp, _ check: DefinitionCheck) -> OrderedJSON {
        .members([
            "name": .optional(check.definition?.name), "title": .optional(check.definition?.title),
            "builtIn": .boolean(app.path == nil), "path": .optional(app.path), "ofStore": .boolean(app.isOfStore),
            "problems": .integer(check.problems.count),
        ])
    }
}
