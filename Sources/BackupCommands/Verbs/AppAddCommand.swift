import AppData
import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct AppAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Write a definition for any SQLite database.",
        discussion: """
            The definition covers every table of the database, as it is found when it is backed up. What the database has now is told in \
            comments. It changes nothing in the database.

            Example:
              backupfs app add --database books.sqlite --media covers
              backupfs init --store /srv/books --app books.yaml --database books.sqlite --media covers
            """)

    @OptionGroup var output: OutputOptions
    @Option(name: .long, help: ArgumentHelp("The app's SQLite database.", valueName: "file"), completion: .file())
    var database: String
    @Option(name: .long, help: ArgumentHelp("The app's media folder, if it has one.", valueName: "dir"), completion: .directory)
    var media: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The app's name: lower-case letters, digits, hyphens. That of the file if not given.", valueName: "name"))
    var name: String?
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "The definition's file; NAME.yaml in the current folder if not given, - for standard output.", valueName: "file"),
        completion: .file())
    var file: String?

    func run() throws {
        if let media, FileSystem.statusIfPresent(media)?.kind != .directory {
            throw BackupError(.notFound, "there is no media folder here", path: media)
        }
        let folder = media.map { FileSystem.lastComponent(FileSystem.absolutePath($0)) }
        let found = try IntrospectedDefinition(of: database, name: name, mediaFolder: folder)
        let path = file ?? "\(found.name).yaml"
        if path == "-" { return Terminal.write(Array(found.yaml.utf8)) }
        guard try !FileSystem.exists(path) else {
            throw BackupError(
                .alreadyExists, "there is a file here already", path: path, remedy: "Name another one with --output.")
        }
        try FileSystem.writeFileAtomically(path, Array(found.yaml.utf8))
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "app_added", "name": found.name, "path": path,
                "tables": found.tables.map { ["name": $0.name, "columns": $0.columns, "rows": $0.rowCount] as OrderedJSON },
            ])
        } else {
            for line in found.tableLines { Terminal.write(verbatim: line) }
            Terminal.write("Wrote \(path). Make a store with: backupfs init --app \(path) --database \(database)")
        }
    }
}

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
        if output.json { Terminal.write(json: report.json) } else { Terminal.write(report.text) }
    }
}
