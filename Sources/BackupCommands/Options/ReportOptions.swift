import ArgumentParser
import BackupCore
import CopyVerify
import Formats
import Operations
import SystemIO

/// `--report` and `--format`: names with commas between them.
struct ReportFormats: ExpressibleByArgument {
    let formats: [ReportFormat]

    init?(argument: String) {
        guard let formats = ReportFormat.list(argument) else { return nil }
        self.formats = formats
    }
}

/// The options of `copy` for reports at the end of a job.
struct CopyReportOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Make reports at the end: json, csv, html, pdf, with commas between them (default: what the store's settings say).",
            valueName: "formats"))
    var report: ReportFormats?
    @Flag(name: .long, help: "Put the reports into the first complete destination, too, in Reports/.")
    var reportInDestination = false
    @Flag(name: .long, help: "Put small pictures of photos and clips on the reports.")
    var reportThumbnails = false

    init() {}

    /// - Parameter base: what holds without the options.
    func preferences(_ base: ReportPreferences) -> ReportPreferences {
        var preferences = base
        if let report {
            preferences.isEnabled = true
            preferences.formats = report.formats
        }
        if reportInDestination { (preferences.isEnabled, preferences.isInDestination) = (true, true) }
        if reportThumbnails { (preferences.isEnabled, preferences.hasThumbnails) = (true, true) }
        return preferences
    }
}

/// What a person wants on a report.
struct ReportOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("json, csv, html, pdf, with commas between them (default: all).", valueName: "formats"))
    var format: ReportFormats?
    @Option(
        name: [.short, .long], help: ArgumentHelp("The folder that gets the reports; made if it is missing.", valueName: "dir"),
        completion: .directory)
    var output: String?
    @Option(name: .long, help: ArgumentHelp("The title.", valueName: "text"))
    var title: String?
    @Option(name: .long, help: ArgumentHelp("The production.", valueName: "text"))
    var production: String?
    @Option(name: .long, help: ArgumentHelp("The client.", valueName: "text"))
    var client: String?
    @Option(name: .long, help: ArgumentHelp("The company.", valueName: "text"))
    var company: String?
    @Option(name: .long, help: ArgumentHelp("Notes.", valueName: "text"))
    var notes: String?
    @Option(
        name: .long, help: ArgumentHelp("A JPEG or PNG beside the title.", valueName: "file"), completion: .file())
    var logo: String?

    init() {}

    /// - Parameter base: what holds without the options.
    func preferences(_ base: ReportPreferences) -> ReportPreferences {
        var preferences = base
        preferences.formats = format?.formats ?? ReportFormat.allCases
        preferences.title = title ?? base.title
        preferences.production = production ?? base.production
        preferences.client = client ?? base.client
        preferences.company = company ?? base.company
        preferences.notes = notes ?? base.notes
        preferences.logo = logo.map(FileSystem.absolutePath) ?? base.logo
        return preferences
    }
}

extension JobPlace {
    /// What the settings of the store say of reports, if the jobs are in a store. The report has the store's language.
    static func reportSettings(_ options: StoreOptions) throws(BackupError) -> ReportPreferences {
        guard let path = try? options.path(), options.store != nil || StoreLocation.hasStore(path) else {
            return ReportPreferences()
        }
        let found = try StoreSettings.reports(ofStore: path)
        if let language = found.language { Terminal.language = language }
        return found.preferences
    }

    /// The same for a copy, which must not fail because of a setting.
    static func reportSettingsOrNone(_ options: StoreOptions) -> ReportPreferences {
        do throws(BackupError) {
            return try reportSettings(options)
        } catch {
            Terminal.writeError("warning: the settings of reports could not be read: \(error)")
            return ReportPreferences()
        }
    }
}
