import ArgumentParser
import BackupCore
import BackupRepository
import Export
import Operations
import SystemIO

struct UndeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undelete",
        abstract: "Bring removed backups back.",
        discussion: """
            Backups that were removed, by a rule, by a command or in the mounted folder, can be brought back for 7 days (the setting undelete-days). \
            One that a rule would remove again with the next backup is pinned. \
            Of several that had the same name, the one that was removed last comes back; the first digits of an ID name any of them.

            Example:
              backupfs snapshots --removed
              backupfs undelete before-upgrade
              backupfs undelete 3f6c9a0e --as before-upgrade-2
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Names of removed backups, or the first 8 or more digits of their IDs.", valueName: "snap"))
    var names: [String]
    @Option(name: .long, help: ArgumentHelp("What the backup is called from now on.", valueName: "name"))
    var `as`: String?

    func validate() throws {
        if self.as != nil, names.count > 1 { throw ValidationError("--as needs one backup only.") }
    }

    func run() throws {
        let store = try store.open()
        SuccessorWarning.show(store)
        let results = try UndeleteOperation(store: store).run(names, as: self.as.map { FileName($0) })
        MountRecord.letMountNotice(store.paths)
        for result in results {
            if output.json {
                Terminal.say(json(result).compactText + [10])
            } else {
                Terminal.tell("Brought back \(result.snapshot.name)")
                if result.wasPinned {
                    let name = result.snapshot.name
                    Terminal.say(
                        "It is pinned now, since a rule would remove it with the next backup. Let it go with: backupfs unpin \(name)"
                    )
                }
            }
            guard let first = result.problems.first else { continue }
            Terminal.complain(
                BackupError(
                    .repositoryDamaged,
                    "some of the backup's data is not in the repository: the repository may be only half copied, or an older version of backupfs may have pruned it: \(first.message)",
                    path: result.snapshot.name.description, remedy: "See what is damaged with: backupfs check"))
        }
        if results.contains(where: { !$0.problems.isEmpty }) { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private func json(_ result: UndeleteOperation.Result) -> OrderedJSON {
        .members([
            "message_type": .text("undeleted"), "name": .text(result.snapshot.name.description),
            "id": .text(result.snapshot.id.hexadecimal), "problems": .integer(result.problems.count),
            "pinned": .boolean(result.wasPinned),
        ])
    }
}
