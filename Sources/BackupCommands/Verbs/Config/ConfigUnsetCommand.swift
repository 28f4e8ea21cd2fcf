import ArgumentParser
import BackupCore
import Operations

struct ConfigUnsetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Reset a setting to its default.",
        discussion: """
            In store.yaml its line becomes a comment.

            Example:
              backupfs config unset schedule
            """)

    @OptionGroup var store: StoreOptions
    @Argument(help: ArgumentHelp("The setting's name.", valueName: "name"))
    var name: String

    func run() throws {
        guard SettingName(rawValue: name) != nil else { return try SettingsFile(storeAt: store.path()).removeUnknown(name) }
        try SettingsUpdate(options: store).set(SettingsFile.setting(named: name), nil)
    }
}
