import ArgumentParser
import BackupCore
import Export
import Operations
import SystemIO

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
            Terminal.say(
                OrderedJSON.members([
                    "message_type": .text("config_check"), "path": .text(file.path),
                    "problems": .array(problems.map { .text($0.description) }),
                ]).compactText + [10])
        } else if problems.isEmpty {
            Terminal.say("\(file.path) is fine.")
        }
        guard !problems.isEmpty else { return }
        if !output.json { for problem in problems { Terminal.complain(problem) } }
        throw ExitCode(ExitStatus.failure.rawValue)
    }
}
