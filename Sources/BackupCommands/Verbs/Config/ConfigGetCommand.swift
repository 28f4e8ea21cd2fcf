import ArgumentParser
import BackupCore
import Export
import Operations

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
        guard let name else { return Terminal.say(output.json ? Self.json(values) : Array(Self.table(values).utf8)) }
        let setting = try SettingsFile.setting(named: name)
        guard let value = values.first(where: { $0.name == setting }) else { throw ExitCode(ExitStatus.failure.rawValue) }
        Terminal.say(output.json ? Self.json([value]) : Array("\(value.text)\n".utf8))
    }

    private static func table(_ values: [SettingsFile.Value]) -> String {
        Table.text(["Setting", "Value", "From"], values.map { [$0.name.rawValue, $0.text, $0.origin.rawValue] })
    }

    private static func json(_ values: [SettingsFile.Value]) -> [UInt8] {
        OrderedJSON.object(
            values.map {
                .init($0.name.rawValue, .members(["value": .text($0.text), "from": .text($0.origin.rawValue)]))
            }
        ).prettyText
    }
}
