import ArgumentParser
import BackupCore
import Operations
import SystemIO

struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Upload to remotes what they lack.",
        discussion: """
            Backups can be made meanwhile. An upload that was interrupted goes on where it ended. Nothing is removed from a remote. \
            The exit code is 0 when all remotes are up to date, else that of the first failure.

            Example:
              backupfs sync
              backupfs sync offsite
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("The names of the remotes (default: all).", valueName: "remote"), completion: .remote)
    var remotes: [String] = []

    func run() throws {
        DescriptorLimit.raise()
        let store = try store.open()
        let report = SyncReport(store: store, isJSON: output.json, failure: .error)
        guard let failure = report.run(try chosen(store.settings.remotes)) else { return }
        throw ExitCode(ExitStatus(failure.code).rawValue)
    }

    private func chosen(_ all: [RemoteSettings]) throws(BackupError) -> [RemoteSettings] {
        guard !all.isEmpty else {
            throw BackupError(
                .accessDenied, "this store has no remote, so its backups are not copied anywhere else",
                remedy: "Add one with: backupfs remote add NAME URL")
        }
        guard !remotes.isEmpty else { return all }
        for name in remotes where !all.contains(where: { $0.name == name }) {
            let near = SpellingSuggestion.nearest(to: name, among: all.map(\.name))
            throw BackupError(
                .usage, "there is no remote “\(MessageText.shortened(name))”",
                remedy: near.map { "Did you mean \($0)?" } ?? "See: backupfs remote list")
        }
        return all.filter { remotes.contains($0.name) }
    }
}
