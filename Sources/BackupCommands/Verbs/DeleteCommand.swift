import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete backups by name, or all of them.",
        discussion: """
            As rmdir does in the mounted folder. Pinned backups are not deleted by name, and --all leaves them and safety backups alone. \
            Deleted backups can be brought back with undelete for 7 days (the setting undelete-days); prune frees their space after that. With \
            --now they are deleted immediately, with all data that only they needed; those of another store only with --other-source. \
            With --remote, they are deleted from the copy in a remote; one that is still here would be uploaded again, and is refused.

            Example:
              backupfs delete before-upgrade
              backupfs delete --all --now
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: ChangedRemoteOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups to delete.", valueName: "snap"))
    var names: [String] = []
    @Flag(name: .long, help: "Delete all backups.")
    var all = false
    @Flag(name: .long, help: "Delete permanently and prune immediately; also backups deleted before, by name or with --all.")
    var now = false
    @Flag(name: .long, help: "With --now, also delete backups of other stores that are named.")
    var otherSource = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func validate() throws {
        if names.isEmpty != all { throw ValidationError("Name the backups to delete, or give --all.") }
        if now, remote.remote != nil {
            throw ValidationError("--now is not for remotes: use backupfs delete --remote, then backupfs prune --remote --now.")
        }
    }

    func run() throws {
        let own = try store.open()
        let removal = try remote.open(own, isJSON: output.json)
        let store = removal?.copy ?? own
        let operation = ForgetOperation(store: store)
        let plan: ForgetOperation.Plan
        if let removal {
            plan = all ? try removal.planAll() : try removal.plan(names: names)
        } else {
            plan =
                all
                ? try operation.planAll(isFinal: now)
                : try operation.plan(names: names, isFinal: now, allowsOtherSources: otherSource)
        }
        SuccessorWarning.show(store)
        OtherSourceWarning.show(plan.removed, store)
        guard !plan.isEmpty else {
            return report(
                [], text: all && plan.keptCount == 0 ? "No backups found." : "Nothing was deleted.", kept: plan.keptCount)
        }
        if !yes {
            let days = store.settings.retention.undeleteDays
            try ConfirmationPrompt.require(
                question(plan, days), answer: all ? "Delete All" : "Delete",
                for: now ? "deleting cannot be undone" : "this deletes backups")
        }
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let isEmptied = store.repository.hasOnly(plan.removed.map(\.id))
        let removed = try operation.run(plan, as: .delete, isFinal: now, progress: printer.handler)
        MountRecord.letMountNotice(store.paths)
        // They are deleted, whatever the outcome of the prune.
        defer {
            printer.finish()
            let text =
                all && plan.keptCount == 0
                ? "All backups deleted." : Message.joined(removed.map { "Deleted \($0.name)" }, separator: "\n")
            report(removed, text: text, kept: plan.keptCount)
        }
        if now {
            let summary = try PruneOperation(store: store, allowsEmpty: isEmptied).run(
                maxUnused: .bytes(0), isDryRun: false, progress: printer.handler)
            printer.finish()
            if let notice = PruneReport.clockNotice(summary) { Terminal.writeError("warning: \(notice)") }
        }
    }

    /// - Parameter days: how long they can be brought back.
    private func question(_ plan: ForgetOperation.Plan, _ days: Int) -> Message {
        let count = plan.removed.count + plan.givenUp.count
        if now {
            if all { return "Are you sure you want to delete all backups? This cannot be undone." }
            if count == 1 { return "Are you sure you want to delete this backup? This cannot be undone." }
            return .plural(
                count, one: "Are you sure you want to delete \(count) backup? This cannot be undone.",
                other: "Are you sure you want to delete these \(count) backups? This cannot be undone.")
        }
        let question: Message =
            all
            ? "Are you sure you want to delete all backups?"
            : count == 1
                ? "Are you sure you want to delete this backup?"
                : .plural(
                    count, one: "Are you sure you want to delete \(count) backup?",
                    other: "Are you sure you want to delete these \(count) backups?")
        let remark: Message = .plural(
            days, one: "For \(days) day it can be undone with: backupfs undelete.",
            other: "For \(days) days it can be undone with: backupfs undelete.")
        return .joined([question, remark], separator: " ")
    }

    private func report(_ removed: [Snapshot], text: Message, kept: Int) {
        guard !output.json else {
            return Terminal.write(
                jsonLine: ["message_type": "deleted", "removed": removed.map(\.name), "kept": kept])
        }
        Terminal.writeUnlessQuiet(text)
        if all, kept > 0 {
            Terminal.writeUnlessQuiet(
                remote.remote != nil
                    ? .plural(
                        kept, one: "\(kept) backup was kept, since it is pinned or still here.",
                        other: "\(kept) backups were kept, since they are pinned or still here.")
                    : .plural(kept, one: "\(kept) pinned backup was kept.", other: "\(kept) pinned backups were kept."))
        }
    }
}

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
    @OptionGroup var remote: ChangedRemoteOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Names of removed backups, or the first 8 or more digits of their IDs.", valueName: "snap"))
    var names: [String]
    @Option(name: .long, help: ArgumentHelp("What the backup is called from now on.", valueName: "name"))
    var `as`: String?

    func validate() throws {
        if self.as != nil, names.count > 1 { throw ValidationError("--as needs one backup only.") }
    }

    func run() throws {
        let own = try store.open()
        let store = try remote.open(own, isJSON: output.json)?.copy ?? own
        SuccessorWarning.show(store)
        let results = try UndeleteOperation(store: store).run(names, as: self.as.map { FileName($0) })
        MountRecord.letMountNotice(store.paths)
        for result in results {
            if output.json {
                Terminal.write(jsonLine: json(result))
            } else {
                Terminal.writeUnlessQuiet("Brought back \(result.snapshot.name)")
                if result.wasPinned {
                    let name = (remote.remote.map { "--remote \($0) " } ?? "") + "\(result.snapshot.name)"
                    Terminal.write(
                        "It is pinned now, since a rule would remove it with the next backup. Let it go with: backupfs unpin \(name)"
                    )
                }
            }
            guard let first = result.problems.first else { continue }
            Terminal.writeError(
                BackupError(
                    .repositoryDamaged,
                    "some of the backup's data is not in the repository: the repository may be only half copied, or an older version of backupfs may have pruned it: \(first.message)",
                    path: result.snapshot.name.description, remedy: "See what is damaged with: backupfs check"))
        }
        if results.contains(where: { !$0.problems.isEmpty }) { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private func json(_ result: UndeleteOperation.Result) -> OrderedJSON {
        [
            "message_type": "undeleted", "name": result.snapshot.name, "id": result.snapshot.id,
            "problems": result.problems.count, "pinned": result.wasPinned,
        ]
    }
}
