import ArgumentParser

struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Show, check and create app definitions.",
        discussion: """
            A definition is a YAML file that says which tables an app's records lie in, how they are exported and what is checked. \
            Docs/app-definitions.md teaches how to write one.

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
