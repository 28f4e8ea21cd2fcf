import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import SystemIO

struct ForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove old backups, by a rule or by name.",
        discussion: """
            Without names and rules, the rule of the store's settings applies, or else of the app's definition. Each --keep option keeps what it says; the rest is removed. \
            The newest backup and pinned ones are always kept. Safety backups are left alone unless they are named. \
            Removed backups can be brought back with undelete for 7 days (the setting undelete-days). \
            With --remote, backups are removed from the copy in a remote: without names and rules, by the rules in its settings.

            Example:
              backupfs forget --keep-last 3 --keep-daily 7 --keep-monthly 12 --dry-run
              backupfs forget before-upgrade --yes --prune
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: ChangedRemoteOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups to remove.", valueName: "snap"), completion: .snapshot)
    var names: [String] = []
    @OptionGroup var rules: RetentionOptions
    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Keep all with this tag, or with all of tag,tag; may be given several times.", valueName: "tags"))
    var keepTag: [String] = []
    @Flag(name: [.long, .customShort("n")], help: "Only say what would be removed.")
    var dryRun = false
    @Flag(name: .long, help: "Prune afterwards: free the space of backups that can no longer be brought back.")
    var prune = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func run() throws {
        let policy = try policy()
        guard names.isEmpty || policy.isEmpty else {
            throw BackupError(.usage, "names of backups and --keep options exclude each other", remedy: "Leave one of them out.")
        }
        let own = try store.open()
        let removal = try remote.open(own, isJSON: output.json)
        let store = removal?.copy ?? own
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let operation = ForgetOperation(store: store)
        let plan: ForgetOperation.Plan
        if let removal {
            plan =
                !names.isEmpty
                ? try removal.plan(names: names) : policy.isEmpty ? try removal.planByRule() : try removal.plan(policy)
        } else {
            plan =
                !names.isEmpty
                ? try operation.plan(names: names) : policy.isEmpty ? try operation.planByRule() : try operation.plan(policy)
        }
        SuccessorWarning.show(store)
        if !names.isEmpty { OtherSourceWarning.show(plan.removed, store) }
        if !output.json, !dryRun, !yes, !plan.removed.isEmpty { Terminal.writeError(verbatim: Self.table(plan)) }
        if !dryRun, !yes, !plan.removed.isEmpty {
            try ConfirmationPrompt.require(
                .plural(
                    plan.removed.count, one: "Remove \(plan.removed.count) of these backups?",
                    other: "Remove \(plan.removed.count) of these backups?"), for: "this removes backups")
        }
        let removed = dryRun ? [] : try operation.run(plan, progress: printer.handler)
        printer.finish()
        if !removed.isEmpty { MountRecord.letMountNotice(store.paths) }
        if output.json {
            Terminal.write(jsonLine: json(plan, removed))
        } else {
            if dryRun || Terminal.verbosity != .quiet, dryRun || yes || plan.removed.isEmpty {
                Terminal.write(verbatim: Self.table(plan))
            }
            let told: Message =
                dryRun
                ? .plural(
                    plan.removed.count, one: "Would remove \(plan.removed.count) backup.",
                    other: "Would remove \(plan.removed.count) backups.")
                : .plural(removed.count, one: "Removed \(removed.count) backup.", other: "Removed \(removed.count) backups.")
            if dryRun { Terminal.write(told) } else { Terminal.writeUnlessQuiet(told) }
        }
        guard prune else { return }
        let summary = try PruneOperation(store: store).run(
            maxUnused: removal?.standardUnused ?? .standard, isDryRun: dryRun, progress: printer.handler)
        printer.finish()
        if output.json {
            Terminal.write(jsonLine: PruneReport.json(summary, isDryRun: dryRun))
        } else {
            PruneReport.write(summary, isDryRun: dryRun)
        }
    }

    private func policy() throws(BackupError) -> RetentionPolicy {
        var policy = try rules.policy()
        for text in keepTag {
            let tags = text.split(separator: ",").map(String.init)
            guard !tags.isEmpty else { throw BackupError(.usage, "--keep-tag needs a tag", remedy: "Name one.") }
            policy.tags.append(tags)
        }
        return policy
    }

    private static func table(_ plan: ForgetOperation.Plan) -> String {
        let rows = plan.items.map { item in
            [
                Terminal.language.text(item.reasons.isEmpty ? "remove" : "keep"), item.snapshot.name.description,
                Terminal.time(item.snapshot.creationTime), item.snapshot.tags.joined(separator: ","),
                Terminal.language.text(.joined(plan.reasons(of: item))),
            ]
        }
        return Table.text(["", "Name", "Created", "Tags", "Why"], rows)
    }

    private func json(_ plan: ForgetOperation.Plan, _ removed: [Snapshot]) -> OrderedJSON {
        [
            "message_type": "forget", "dry_run": dryRun, "keep": plan.items.filter { !$0.reasons.isEmpty }.map(Self.describe),
            "remove": plan.items.filter { $0.reasons.isEmpty }.map(Self.describe), "removed": removed.count,
        ]
    }

    private static func describe(_ item: ForgetOperation.Plan.Item) -> OrderedJSON {
        [
            "name": item.snapshot.name, "id": item.snapshot.id, "created_at": item.snapshot.creationTime.wholeSeconds,
            "tags": item.snapshot.tags, "pinned": item.snapshot.isPinned, "reasons": item.reasons,
        ]
    }
}
