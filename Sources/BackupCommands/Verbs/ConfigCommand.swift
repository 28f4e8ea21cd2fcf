import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

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

struct ConfigGetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the settings in effect.",
        discussion: """
            With a name, only its value; nothing, and exit code 1, if it has none.

            Example:
              backupfs config get schedule
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("A setting's name.", valueName: "name"))
    var name: String?

    func run() throws {
        let file = try SettingsFile(storeAt: store.path())
        let values = try file.values()
        guard let name else {
            return output.json ? Terminal.write(json: Self.json(values)) : Terminal.write(Array(Self.table(values).utf8))
        }
        let setting = try SettingsFile.setting(named: name)
        guard let value = values.first(where: { $0.setting == setting }) else { throw ExitCode(ExitStatus.failure.rawValue) }
        if output.json { Terminal.write(json: Self.json([value])) } else { Terminal.write(Array("\(value.text)\n".utf8)) }
    }

    private static func table(_ values: [SettingsFile.Value]) -> String {
        Table.text(["Setting", "Value", "From"], values.map { [$0.setting.name, $0.text, $0.origin.rawValue] })
    }

    private static func json(_ values: [SettingsFile.Value]) -> OrderedJSON {
        .object(values.map { .init($0.setting.name, ["value": $0.text, "from": $0.origin.rawValue]) })
    }
}

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
            Terminal.writeError("The store is mounted: \(name) takes effect at the next mount.")
        }
    }
}

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
        guard Setting.named(name) != nil else { return try SettingsFile(storeAt: store.path()).removeUnknown(name) }
        try SettingsUpdate(options: store).set(SettingsFile.setting(named: name), nil)
    }
}

/// Changes a setting here and in the repository, where other stores may read it.
struct SettingsUpdate {
    let options: StoreOptions

    /// The setting takes effect here even if the repository cannot be updated.
    func set(_ setting: Setting, _ value: String?) throws(BackupError) {
        let file = try SettingsFile(storeAt: options.path())
        try file.set(setting, value)
        do throws(BackupError) {
            try file.updateSource { (repository) throws(BackupError) in
                .password(try options.passwords.password(of: repository, asks: false))
            }
        } catch {
            guard setting == .undeleteDays else { return }
            Terminal.writeError("Other stores of the repository learn this with the next backup: \(error.message)")
        }
    }
}

struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check whether the settings are valid, and whether the files that they name exist.",
        discussion: """
            Exit code 1 if something is wrong. With --json: one object, whose member problems is an array of texts.

            Example:
              backupfs config check
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let file = try SettingsFile(storeAt: store.path())
        let problems = file.problems()
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "config_check", "path": file.path, "problems": problems.map(\.description),
            ])
        } else if problems.isEmpty {
            Terminal.write("\(file.path) is fine.")
        }
        guard !problems.isEmpty else { return }
        if !output.json { for problem in problems { Terminal.writeError(problem) } }
        throw ExitCode(ExitStatus.failure.rawValue)
    }
}
