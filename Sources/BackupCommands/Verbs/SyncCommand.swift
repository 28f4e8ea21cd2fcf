import ArgumentParser
import BackupCore
import BackupRepository
import Operations
import SystemIO

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Upload to remotes what they lack.",
        discussion: """
            Backups can be made meanwhile. An upload that was interrupted goes on where it ended. Nothing is removed from a remote, \
            unless its settings have rules which backups are kept there (keep-last, keep-daily, …). With --verify, the packs in the \
            remote are read and compared with their checksums, and each damaged one is uploaded again from here. The exit code is 0 when all remotes are up to date, else that of the first failure.

            Example:
              backupfs sync
              backupfs sync offsite
              backupfs sync offsite --verify --read-data-subset 1/30
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The names of the remotes (default: all).", valueName: "remote"), completion: .remote)
    var remotes: [String] = []

    @Flag(name: .long, help: "Also read the packs in the remote, and upload again from here what is damaged there.")
    var verify = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --verify, read a part of the data: 10% of the packs by chance, or 1/5, 2/5, … in turn.", valueName: "part"))
    var readDataSubset: String?

    func validate() throws {
        if readDataSubset != nil, !verify { throw ValidationError("--read-data-subset needs --verify.") }
    }

    func run() throws {
        DescriptorLimit.raise()
        let subset = try readDataSubset.map { text throws(BackupError) in try DataSubset(parsing: text) }
        let store = try store.open()
        let report = SyncReport(
            store: store, isJSON: output.json, failure: .error, verified: verify ? subset ?? .all : nil)
        guard let failure = report.run(try chosen(store.settings)) else { return }
        throw ExitCode(ExitStatus(failure.code).rawValue)
    }

    private func chosen(_ settings: StoreSettings) throws(BackupError) -> [RemoteSettings] {
        let all = settings.remotes
        guard !all.isEmpty else {
            throw BackupError(
                .accessDenied, "this store has no remote, so its backups are not copied anywhere else",
                remedy: "Add one with: backupfs remote add NAME URL")
        }
        guard !remotes.isEmpty else { return all }
        for name in remotes { _ = try settings.remote(named: name) }
        return all.filter { remotes.contains($0.name) }
    }
}
