import ArgumentParser
import BackupCore
import Formats
import Operations
import SystemIO

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the app's data, or a backup, as one file that needs no special program.",
        discussion: """
            Without SNAP the live data is exported. --json, --zip and --tar write one file, under the app's own file name in the current \
            folder unless --output says otherwise ("-" is standard output). So do --html-gallery and --pdf-catalog, for apps with photos: \
            the small pictures that backups keep, by the time when they were taken. --csv writes a folder with one file for each collection.

            Example:
              backupfs export --json
              backupfs export latest --zip --output /media/usb/cars.zip
              backupfs export latest --tar --output - | ssh elsewhere 'tar -x -C cars'
              backupfs export latest --html-gallery
              backupfs export --pdf-catalog --output album.pdf
              backupfs export --csv ~/spreadsheets
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: RemoteCopyOption
    @Argument(
        help: ArgumentHelp("A backup's name, or \"latest\" (default: the live data).", valueName: "snap"), completion: .snapshot)
    var snapshot: String?
    @Flag(name: .long, help: "The app's own export format (the default).")
    var json = false
    @Flag(name: .long, help: "Everything, as one ZIP archive.")
    var zip = false
    @Flag(name: .long, help: "Everything, as one tar archive.")
    var tar = false
    @Flag(name: .long, help: "The photos as one HTML file that needs no other file and no network.")
    var htmlGallery = false
    @Flag(name: .long, help: "The photos as a PDF.")
    var pdfCatalog = false
    @Option(
        name: .long, help: ArgumentHelp("One CSV file for each collection, into this folder.", valueName: "dir"),
        completion: .directory)
    var csv: String?
    @Option(
        name: [.short, .long], help: ArgumentHelp("The file to write; \"-\" for standard output.", valueName: "file"),
        completion: .file())
    var output: String?

    func validate() throws {
        if [json, zip, tar, htmlGallery, pdfCatalog, csv != nil].count(where: { $0 }) > 1 {
            throw ValidationError("Choose one of --json, --zip, --tar, --html-gallery, --pdf-catalog and --csv.")
        }
        if csv != nil, output != nil { throw ValidationError("--csv names its folder itself; leave out --output.") }
    }

    private var form: ExportOperation.Form {
        if zip { return .archive(.zip) }
        if tar { return .archive(.tar) }
        if htmlGallery { return .htmlGallery }
        return pdfCatalog ? .pdfCatalog : .json
    }

    func run() throws {
        let store = try store.open(remote)
        // Here --json is a form of the export, not of the progress.
        let printer = ProgressPrinter(isJSON: false)
        defer { printer.finish() }
        let export = ExportOperation(store: store, snapshotName: snapshot, progress: printer.handler)
        if let csv {
            let files = try export.writeCSV(to: csv)
            printer.finish()
            for file in files { Terminal.write(verbatim: file) }
            return
        }
        if output == "-" {
            try export.write(form, toDescriptor: 1)
            return
        }
        let path = try export.write(form, to: output)
        printer.finish()
        Terminal.write(verbatim: "\(Terminal.successMark)\(path)")
    }
}
