import ArgumentParser
import BackupCore
import Operations

struct ConfigSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change a setting.",
        discussion: """
            The comments in store.yaml stay. A value that cannot be is refused, and the settings are as they were.

            Example:
              backupfs config set schedule daily
              backupfs config set keep-daily 7
            """)

    @OptionGroup var store: StoreOptions
    @Argument(help: ArgumentHelp("The setting's name.", valueName: "name"))
    var name: String
    @Argument(help: ArgumentHelp("Its value.", valueName: "value"))
    var value: String

    func run() throws {
        let path = try store.path()
        let setting = try SettingsFile.setting(named: name)
        try SettingsUpdate(options: store).set(setting, value)
        if !setting.appliesAtOnce, MountRecord.mountpoint(StorePaths(root: path)) != nil {
            Terminal.complain("The store is mounted: \(name) takes effect at the next mount.")
        }
    }
}
