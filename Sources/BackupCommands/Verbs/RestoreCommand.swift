import ArgumentParser
import BackupCore
import Export
import Glibc
import Operations
import Restore
import SystemIO

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replace the app's data by a backup or a file.",
        discussion: """
            The file (.json, .zip or .sqlite) or backup is checked whole first; then a safety backup is made; then everything is replaced
            in one step, or nothing.

            Example:
              backupfs restore old.json --dry-run
              backupfs restore before-upgrade --yes
            """)

    /// What a restore does with data that is there already.
    enum Strategy: String, ExpressibleByArgument, CaseIterable { case replace }

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("A file, or a backup's name (or \"latest\").", valueName: "file|snap"))
    var source: String
    @Option(name: .long, help: "What happens to the data that is there.")
    var strategy = Strategy.replace
    @Flag(name: .long, help: "Only say what would happen.")
    var dryRun = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func run() throws {
        let store = try store.open()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let restore = RestoreRunner(store: store)
        try restore.withSource(named: source) { path, name, origin in
            let preview = try restore.preview(path: path, name: name, origin: origin)
            if dryRun {
                show(preview.json, preview.text)
                return
            }
            if !yes {
                guard Terminal.isInputTerminal else {
                    throw BackupError(
                        .usage, "a restore replaces all data and nobody can be asked", path: name, remedy: "Add --yes.")
                }
                Terminal.complain(preview.text)
                let answer = Terminal.ask("Type \"Import and Replace All Data\" or \"Cancel\" [Cancel]: ")
                guard answer?.lowercased() == "import and replace all data" || answer?.lowercased() == "yes" else {
                    throw BackupError(.interrupted, "cancelled; nothing was changed")
                }
            }
            let result = try restore.run(path: path, name: name, origin: origin, progress: printer.handler)
            printer.finish()
            show(result.json, result.text)
        }
    }

    private func show(_ json: OrderedJSON, _ text: String) {
        if output.json { Terminal.say(json.prettyText) } else { Terminal.say(text) }
    }
}
