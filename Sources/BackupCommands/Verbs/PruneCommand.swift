import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations

struct PruneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Free the space of removed backups.",
        discussion: """
            Removes what no backup needs from the repository. What removed backups need stays for as long as they can be brought back (the setting \
            undelete-days). It may be interrupted at any time; a mount goes on serving. With --remote, the copy in a remote is pruned, in two \
            steps: what no backup needs stays there for a day, and a later prune removes it.

            Example:
              backupfs prune --dry-run
              backupfs prune --max-unused 10%
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: ChangedRemoteOption
    @OptionGroup var output: OutputOptions
    @Option(
        name: .long,
        help: ArgumentHelp(
            "How much of what is not needed may stay: 5% of what is needed, 100M or unlimited (default: 5%; for a remote with rules 20%, for another one unlimited).",
            valueName: "limit"))
    var maxUnused: String?
    @Flag(name: .long, help: "Give up this store's removed backups that could still be brought back.")
    var now = false
    @Flag(name: .long, help: "Also remove everything from a repository that has no backup at all.")
    var empty = false
    @Flag(
        name: .long,
        help: "Give up backups whose records are missing, and data whose packs are missing or cannot be read; check names them.")
    var forgetMissing = false
    @Flag(name: [.long, .customShort("n")], help: "Only say what would be done.")
    var dryRun = false

    func run() throws {
        let limit = try maxUnused.map { text throws(BackupError) in try UnusedLimit(parsing: text) }
        let own = try store.open()
        let removal = try remote.open(own, isJSON: output.json)
        let store = removal?.copy ?? own
        if now { try store.requireClaimedSource() }
        SuccessorWarning.show(store)
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let operation = PruneOperation(
            store: store, givesUpRemoved: now, allowsEmpty: empty, forgetsMissing: forgetMissing)
        let summary = try operation.run(
            maxUnused: limit ?? removal?.standardUnused ?? .standard, isDryRun: dryRun, progress: printer.handler)
        printer.finish()
        if output.json {
            Terminal.write(jsonLine: PruneReport.json(summary, isDryRun: dryRun))
        } else {
            PruneReport.write(summary, isDryRun: dryRun)
        }
    }
}
