import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations

struct TagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tag",
        abstract: "Show or change the tags of backups.",
        discussion: """
            Without --add, --remove and --set the tags are only shown. --set replaces all of them; an empty --set "" removes all.

            Example:
              backupfs tag latest --add before-upgrade
              backupfs tag before-upgrade old --remove manual
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups' names, or \"latest\".", valueName: "snap"), completion: .snapshot)
    var snapshots: [String]
    @Option(name: .long, help: ArgumentHelp("A tag to add; may be given several times.", valueName: "tag"))
    var add: [String] = []
    @Option(name: .long, help: ArgumentHelp("A tag to remove; may be given several times.", valueName: "tag"))
    var remove: [String] = []
    @Option(name: .long, help: ArgumentHelp("A tag to have instead of all others; may be given several times.", valueName: "tag"))
    var set: [String] = []

    func validate() throws {
        if !set.isEmpty, !add.isEmpty || !remove.isEmpty {
            throw ValidationError("--set replaces all tags; it cannot be used together with --add and --remove.")
        }
        if !Set(add).isDisjoint(with: remove) { throw ValidationError("A tag cannot be both added and removed.") }
    }

    func run() throws {
        let store = try store.open()
        // Look up all names before changing anything.
        var found = try snapshots.map { try store.anySnapshot(named: $0) }
        if !(add + remove + set).isEmpty {
            let replacement = set.isEmpty ? nil : set.filter { !$0.isEmpty }
            for tag in add + (replacement ?? []) { try SnapshotTag.check(tag) }
            found = try found.map { try store.changeTags(of: $0, setting: replacement, adding: add, removing: remove) }
        }
        if output.json {
            Terminal.write(json: .array(found.map { ["name": $0.name, "id": $0.id, "tags": $0.tags] }))
        } else {
            for snapshot in found {
                let tags = snapshot.tags.joined(separator: ", ")
                Terminal.write(tags.isEmpty ? "\(snapshot.name): no tags" : "\(snapshot.name): \(tags)")
            }
        }
    }
}
