import ArgumentParser
import BackupCore
import Export
import Operations

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the store's state.",
        discussion: """
            Example:
              backupfs status --json | jq .lastBackup.createdAt
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let status = try StatusDocument(of: store.open())
        if output.json {
            Terminal.say(status.json.prettyText)
        } else {
            for line in status.lines { Terminal.say(line) }
        }
    }
}
