import ArgumentParser
import BackupCore
import CopyVerify
import Formats
import SystemIO

struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Make a report of a job of `backupfs copy`, or of all of them.",
        discussion: """
            Example:
              backupfs report 2026-01-11_14-30-00-1f2e3d
              backupfs report master /media/raid
            """,
        subcommands: [ReportJobCommand.self, ReportMasterCommand.self], defaultSubcommand: ReportJobCommand.self)
}

struct ReportJobCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "job",
        abstract: "Make a report of a job of `backupfs copy`.",
        discussion: """
            It says what the job has proved: which files are at which destination, what is missing and why, and how the copies were read \
            back. Without --output the reports are in reports/ in the job's folder, and replace earlier ones.

            Example:
              backupfs report 2026-01-11_14-30-00-1f2e3d
              backupfs report 2026-01-11_14-30-00-1f2e3d --format pdf --output ~/reports --client 'Example Television'
            """)

    @OptionGroup var job: JobOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var report: ReportOptions
    @Flag(name: .long, help: "Put small pictures of photos and clips on the report.")
    var thumbnails = false

    func run() throws {
        let folder = try JobFolder.open(job.name, in: JobPlace.resolve(job.store))
        let settings = try JobPlace.reportSettings(job.store)
        var preferences = report.preferences(try folder.reportPreferences() ?? settings)
        if thumbnails { preferences.hasThumbnails = true }
        let chosen = preferences
        let (verdict, outcome) = try CancellingSignals.run { () throws(BackupError) in
            let reporter = try JobReporter(folder, chosen, language: Terminal.language, requiresLogo: report.logo != nil)
            let place = report.output.map { JobReporter.Place.folder(FileSystem.absolutePath($0)) } ?? .job
            return (reporter.verdict, try reporter.make(in: place))
        }
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "report", "job": folder.record.id, "verdict": verdict.rawValue, "paths": outcome.paths,
                "warnings": (outcome.warnings + outcome.errors).map(\.summary),
            ])
        }
        try ReportOutcome(outcome, isJSON: output.json, wasChosen: report.format != nil).finish()
    }
}

struct ReportMasterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "master",
        abstract: "Make one report of all jobs of `backupfs copy`.",
        discussion: """
            Each DIR is searched for the records that copies have left (`copy --report-in-destination`) and for folders of jobs. To these come \
            the jobs of the store, or of this user, whose source or destination is in a DIR; without DIR, all of them. Without --output the \
            report is in the current folder. The exit code is 3 if something could not be read.

            Example:
              backupfs report master /media/raid /media/shuttle-1
              backupfs report master --format pdf --production 'The Long Example' --output ~/reports
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var report: ReportOptions
    @Argument(help: ArgumentHelp("Folders to search.", valueName: "dir"), completion: .directory)
    var folders: [String] = []

    func run() throws {
        let place = try JobPlace.resolve(store)
        let preferences = report.preferences(try JobPlace.reportSettings(store))
        let paths = folders.map(FileSystem.absolutePath)
        let (search, outcome) = try CancellingSignals.run { () throws(BackupError) in
            var search = TransferSearch()
            for path in paths { try search.addVolume(path) }
            try search.addJobs(of: place, touching: paths)
            let reporter = try MasterReporter(search, preferences, language: Terminal.language)
            return (search, try reporter.make(in: FileSystem.absolutePath(report.output ?? ".")))
        }
        for problem in search.problems { Terminal.writeError("warning: \(problem)") }
        if output.json {
            Terminal.write(jsonLine: [
                "message_type": "master_report", "transfers": search.transfers.map(\.id), "paths": outcome.paths,
                "warnings": (search.problems + outcome.errors).map(\.summary),
            ])
        }
        try ReportOutcome(outcome, isJSON: output.json, wasChosen: report.format != nil).finish()
        if !search.problems.isEmpty { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }
}

/// The end of a command that makes reports.
private struct ReportOutcome {
    private let outcome: JobReporter.Outcome
    private let isJSON: Bool
    /// Whether a person has asked for these formats: then each of them is needed.
    private let wasChosen: Bool

    init(_ outcome: JobReporter.Outcome, isJSON: Bool, wasChosen: Bool) {
        self.outcome = outcome
        self.isJSON = isJSON
        self.wasChosen = wasChosen
    }

    func finish() throws(BackupError) {
        if !isJSON { for path in outcome.paths { Terminal.write(verbatim: "\(Terminal.successMark)\(Terminal.shown(path))") } }
        for warning in outcome.warnings { Terminal.writeError("warning: \(warning)") }
        for error in outcome.errors {
            guard !wasChosen, error.code == .notSupported else { throw error }
            Terminal.writeError("warning: \(error)")
        }
    }
}
