import AppData
import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Show, check and create app definitions.",
        discussion: """
            A definition is a YAML file that says which tables an app's records lie in, how they are exported and what is checked. \
            Docs/how-to/describe-an-app.md teaches how to write one.

            Example:
              backupfs app list
              backupfs app add --database my-app.sqlite
              backupfs app show ev-charging-tracker > my-app.yaml
              backupfs app check my-app.yaml --database my-app.sqlite
            """,
        subcommands: [
            AppAddCommand.self, AppCheckCommand.self, AppListCommand.self, AppMigrateCommand.self,
            AppSchemaCommand.self, AppShowCommand.self,
        ])
}

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
        let apps = try AppDefinitionSource.all(storePath: storePath).map { ($0, $0.check()) }
        if output.json {
            Terminal.write(json: OrderedJSON.array(apps.map(describe)))
        } else {
            Terminal.write(verbatim: Table.text(["NAME", "TITLE", "FROM"], apps.map(row)))
        }
    }

    private func row(_ app: AppDefinitionSource, _ check: DefinitionCheck) -> [String] {
        let place: Message = app.path.map(Message.verbatim) ?? "built in"
        let title: Message =
            check.definition.map { .verbatim($0.title) } ?? "(it has problems: backupfs app check \(app.path ?? ""))"
        let origin: Message = app.isOfStore ? "\(place), the store's app" : place
        return [check.definition?.name ?? "?", Terminal.language.text(title), Terminal.language.text(origin)]
    }

    private func describe(_ app: AppDefinitionSource, _ check: DefinitionCheck) -> OrderedJSON {
        [
            "name": check.definition?.name, "title": check.definition?.title, "built_in": app.path == nil, "path": app.path,
            "of_store": app.isOfStore, "problems": check.problems.count,
        ]
    }
}

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
        guard output.json else { return Terminal.write(Array(found.text.utf8)) }
        Terminal.write(json: DefinitionSummary.json(try found.load(), path: found.path))
    }

    private func find() throws -> AppDefinitionSource {
        guard let app else { return try AppDefinitionSource.ofStore(at: store.path()) }
        if AppDefinition.builtInNames.contains(app) { return try AppDefinitionSource.builtIn(named: app) }
        if app.contains("/") || app.hasSuffix(".yaml") || (try? FileSystem.exists(app)) == true {
            return try AppDefinitionSource.file(app)
        }
        // The store's own app may have this name.
        if let own = try? AppDefinitionSource.ofStore(at: store.path()), own.check().definition?.name == app { return own }
        throw BackupError(
            .notFound, "there is no app called \(app)", remedy: "Name a definition's file, or one of: backupfs app list")
    }
}

/// The content of a definition, for programs.
enum DefinitionSummary {
    static func json(_ definition: AppDefinition, path: String?) -> OrderedJSON {
        [
            "name": definition.name, "title": definition.title, "built_in": path == nil, "path": path,
            "schema_version": definition.schemaVersion, "minimum_schema_version": definition.minimumSchemaVersion,
            "envelope": definition.envelope.map { name(of: $0, in: definition) }, "metadata": object(definition.metadata),
            "settings": definition.settings.map(object),
            "collections": definition.collections.map { collection($0, in: definition) },
            "media": definition.media.map { ["folder": $0.folder] as OrderedJSON },
            "strategy": definition.defaultStrategy.rawValue, "strategies": definition.strategies.map(\.rawValue),
            "migrations": definition.migrations.map(\.name),
        ]
    }

    private static func name(of member: EnvelopeMember, in definition: AppDefinition) -> String {
        switch member {
        case .metadata: definition.metadata.name
        case .metadataField(let index): definition.metadata.fields[index].name
        case .settings: definition.settings?.name ?? ""
        case .collection(let index): definition.collections[index].name
        }
    }

    private static func object(_ object: ObjectDefinition) -> OrderedJSON {
        [
            "name": object.name, "table": object.table,
            "fields": object.fields.map { field($0, columnKey: "key", reference: nil) }, "on_merge": object.onMerge.rawValue,
        ]
    }

    private static func collection(_ collection: CollectionDefinition, in definition: AppDefinition) -> OrderedJSON {
        let fields = collection.fields.map { each in
            let reference = each.reference.map { "\(definition.collections[$0.collection].name).\($0.field)" }
            return field(each, columnKey: "column", reference: reference)
        }
        return [
            "name": collection.name, "table": collection.table, "key": collection.keyField.name, "fields": fields,
            "identity": collection.rules.identity.map { collection.fields[$0].name },
            "on_merge": collection.rules.onMerge.rawValue,
            "keep_on_replace": collection.rules.keepOnReplaceIndex.map { collection.fields[$0].name },
        ]
    }

    private static func field(_ field: FieldDefinition, columnKey: String, reference: String?) -> OrderedJSON {
        [
            "name": field.name, columnKey: field.column.isEmpty ? nil : field.column, "type": field.type.rawValue,
            "required": field.isRequired, "nullable": field.isNullable, "references": reference, "media": field.isMedia,
        ]
    }
}

struct AppSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of app definitions, for editors.",
        discussion: """
            An editor with the YAML language server completes and checks a definition whose first line names the schema's file.

            Example:
              backupfs app schema > app-definition.schema.json
              # yaml-language-server: $schema=app-definition.schema.json
            """)

    func run() throws { Terminal.write(AppDefinition.formatSchema) }
}
