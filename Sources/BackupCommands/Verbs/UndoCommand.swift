import ArgumentParser
import BackupCore
import Operations
import SystemIO

struct UndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo the last restore.",
        discussion: """
            Restores the safety backup that the last restore has made: all data is as it was before it. What the app has changed since then is in \
            the safety backup that this makes. It is a restore itself, so a second undo brings back what the first one took away. Restores that \
            failed have changed nothing, and do not count.

            Example:
              backupfs undo --dry-run
              backupfs undo --yes
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: [.long, .customShort("n")], help: "Only say what would happen.")
    var dryRun = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func run() throws {
        // A safety backup comes first.
        DescriptorLimit.raise()
        let store = try store.open()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let runner = RestoreRunner(store: store)
        let undo = try runner.undo()
        SuccessorWarning.show(store)
        let restore = CommandRestore(
            store: store, runner: runner, strategy: nil, isJSON: output.json, isDryRun: dryRun, asks: !yes, printer: printer)
        let lead: Message = "This takes back the restore of \(undo.name), made at \(SystemClock.localTime(undo.time))."
        // A retry undoes this same restore, even if there is another one meanwhile.
        try restore.run(again: runner.command(restoring: undo.source.name, strategy: nil), lead: lead) { undo.source }
    }
}
