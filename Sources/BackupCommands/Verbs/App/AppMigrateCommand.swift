import ArgumentParser
import BackupCore
import Export
import Operations
import SystemIO

struct AppMigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Import the files of an app's older versions into its database, once.",
        discussion: """
            For apps that kept their data in files before they had a database: keeptrack (entries.json, intaketypes.json, settings.json). \
            The files are checked whole, a safety backup is made, and then all of them come, or nothing. Records that are there already \
            stay as they are. The files themselves are left alone. What was migrated is not migrated again.

            Example:
              backupfs app migrate ~/KeepTrack-old --dry-run
              backupfs app migrate ~/KeepTrack-old
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The folder with the old files.", valueName: "dir"), completion: .directory)
    var folder: String
    @Flag(name: [.long, .customShort("n")], help: "Only say what would happen.")
    var dryRun = false

    func run() throws {
        let store = try store.open()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let report = try LegacyMigration(store: store, folder: folder).run(isRehearsal: dryRun, progress: printer.handler)
        printer.finish()
        if output.json { Terminal.say(report.json.prettyText) } else { Terminal.say(report.text) }
    }
}
