import ArgumentParser
import BackupCore
import BackupRepository
import Export
import Operations
import SystemIO

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete backups by name, or all of them.",
        discussion: """
            As rmdir does in the mounted folder. Pinned backups are not deleted by name, and --all leaves them and safety backups alone.
            The room is given back by prune.

            Example:
              backupfs delete before-upgrade
              backupfs delete --all
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups to delete.", valueName: "snap"))
    var names: [String] = []
    @Flag(name: .long, help: "Delete all backups.")
    var all = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func validate() throws {
        if names.isEmpty != all { throw ValidationError("Name the backups to delete, or give --all.") }
    }

    func run() throws {
        let store = try store.open()
        let operation = ForgetOperation(store: store)
        let plan = all ? try operation.planAll() : try operation.plan(names: names)
        guard !plan.removed.isEmpty else {
            return report([], text: all ? "No backups found." : "Nothing was deleted.", kept: plan.keptCount)
        }
        if !yes { try Consent.require(question(plan), answer: all ? "Delete All" : "Delete", for: "deleting cannot be undone") }
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        let removed = try operation.run(plan, as: .delete, progress: printer.handler)
        printer.finish()
        MountRecord.letMountNotice(store.paths)
        let text =
            all && plan.keptCount == 0
            ? "All backups deleted." : Message.joined(removed.map { "Deleted \($0.name)" }, separator: "\n")
        report(removed, text: text, kept: plan.keptCount)
    }

    private func question(_ plan: ForgetOperation.Plan) -> Message {
        if all { return "Are you sure you want to delete all backups? This cannot be undone." }
        if plan.removed.count == 1 { return "Are you sure you want to delete this backup? This cannot be undone." }
        return .plural(
            plan.removed.count, one: "Are you sure you want to delete \(plan.removed.count) backup? This cannot be undone.",
            other: "Are you sure you want to delete these \(plan.removed.count) backups? This cannot be undone.")
    }

    private func report(_ removed: [Snapshot], text: Message, kept: Int) {
        guard !output.json else {
            let names = removed.map { OrderedJSON.text($0.name.description) }
            return Terminal.say(
                OrderedJSON.members(["message_type": .text("deleted"), "removed": .array(names), "kept": .integer(kept)])
                    .compactText + [10])
        }
        Terminal.say(text)
        if all, kept > 0 {
            Terminal.say(.plural(kept, one: "\(kept) pinned backup was kept.", other: "\(kept) pinned backups were kept."))
        }
    }
}
