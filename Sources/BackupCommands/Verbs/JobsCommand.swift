import ArgumentParser
import BackupCore
import CopyVerify
import Formats
import SystemIO

struct JobsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "List the jobs of `backupfs copy`, and pause, resume or cancel one.",
        discussion: """
            Example:
              backupfs jobs
              backupfs jobs pause 2026-01-11_14-30-00-1f2e3d
              backupfs jobs resume 2026-01-11_14-30-00-1f2e3d
            """,
        subcommands: [JobsListCommand.self, JobsPauseCommand.self, JobsResumeCommand.self, JobsCancelCommand.self],
        defaultSubcommand: JobsListCommand.self)
}

struct JobsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the jobs of `backupfs copy`.",
        discussion: """
            The oldest first. A job that is interrupted was stopped by a crash.

            Example:
              backupfs jobs list --json | jq -r '.[] | select(.state != "completed") | .id'
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let jobs = try JobFolder.all(in: JobPlace.resolve(store))
        if output.json {
            let documents = jobs.map { job -> OrderedJSON in
                [
                    "id": job.record.id, "folder": job.path, "state": job.state.rawValue, "running": job.isRunning,
                    "created_at": job.record.createdAt, "source": job.record.source, "camera": job.camera?.name,
                    "destinations": job.record.destinations.map(\.path), "verify": job.record.options.verification.rawValue,
                    "progress": job.progress,
                ]
            }
            return Terminal.write(json: .array(documents))
        }
        if jobs.isEmpty { return Terminal.write("There are no jobs.") }
        let rows = jobs.map { job in
            [job.record.id, Terminal.language.text(job.state.label(isRunning: job.isRunning)), Terminal.shown(job.record.source)]
                + [job.record.destinations.map { Terminal.shown($0.path) }.joined(separator: " ")]
        }
        Terminal.write(verbatim: Table.text(["ID", "State", "From", "To"], rows))
    }
}

struct JobsPauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let a running job pause.",
        discussion: """
            Its process waits until the job is resumed, or ends. The same as: echo pause > FOLDER/control

            Example:
              backupfs jobs pause 2026-01-11_14-30-00-1f2e3d
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try job.ask(.pause) }
}

struct JobsResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continue a job that was paused, stopped or killed.",
        discussion: """
            A process that waits in the job continues it; otherwise this command does, as `backupfs copy --resume`. What is at a destination \
            already is not copied again. Copies that failed are tried again.

            Example:
              backupfs jobs resume 2026-01-11_14-30-00-1f2e3d
            """)

    @OptionGroup var job: JobOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        DescriptorLimit.raise()
        Malloc.limitArenas()
        let place = try JobPlace.resolve(job.store)
        if try JobFolder.open(job.name, in: place).isRunning { return try job.ask(.resume) }
        job.store.wait?.begin()
        let settings = JobPlace.reportSettingsOrNone(job.store)
        let log = try JobPlace.log(job.store, besides: JobPlace.folders(ofJob: job.name, in: place))
        try CopyRunner(isJSON: output.json, log: log) { $0 ?? settings }.resume(job.name, in: place)
    }
}

struct JobsCancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "End a running job.",
        discussion: """
            Copies that are complete and verified stay; unfinished ones are removed. The job can be resumed all the same.

            Example:
              backupfs jobs cancel 2026-01-11_14-30-00-1f2e3d
            """)

    @OptionGroup var job: JobOptions

    func run() throws { try job.ask(.cancel) }
}

/// A job, and what commands ask of the process that works at it.
struct JobOptions: ParsableArguments {
    @OptionGroup var store: StoreOptions
    @Argument(help: ArgumentHelp("The job's ID, or its folder.", valueName: "job"), completion: .job)
    var name: String

    func ask(_ request: JobFolder.Request) throws(BackupError) {
        try JobFolder.open(name, in: JobPlace.resolve(store)).ask(request)
    }
}
