import AppData
import ArgumentParser

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

    func run() throws { Terminal.say(AppDefinition.formatSchema) }
}
