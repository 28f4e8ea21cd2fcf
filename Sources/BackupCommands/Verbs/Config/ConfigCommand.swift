import ArgumentParser

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show, change and check the store's settings.",
        discussion: """
            They stand in store.yaml in the store's folder, with comments, and may be edited there as well. A running mount goes by what has \
            been changed within half a minute; which app, database, media folder and repository it is for, it learns when it is mounted anew.

            Example:
              backupfs config get
              backupfs config set schedule 'Mon..Fri 18:00'
              backupfs config check
            """,
        subcommands: [ConfigGetCommand.self, ConfigSetCommand.self, ConfigUnsetCommand.self, ConfigCheckCommand.self])
}
