import ArgumentParser
import BackupCore
import Formats
import Operations

struct PinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Protect backups from retention and deletion.",
        discussion: """
            The same as: setfattr -n user.backupfs.pinned -v 1 MOUNTPOINT/snapshots/NAME

            A backup in a remote that is not here any more is pinned with --remote; one that is here takes its pin with it.

            Example:
              backupfs pin before-upgrade
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: ChangedRemoteOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups' names, or \"latest\".", valueName: "snap"), completion: .snapshot)
    var snapshots: [String]

    func run() throws { try Pinning.run(store, remote, snapshots, isPinned: true, output) }
}

/// The common part of pin and unpin.
enum Pinning {
    static func run(
        _ options: StoreOptions, _ remote: ChangedRemoteOption, _ names: [String], isPinned: Bool, _ output: OutputOptions
    ) throws {
        let own = try options.open()
        let removal = try remote.open(own, isJSON: output.json)
        // Look up all names before changing anything.
        let snapshots = try names.map { try removal?.snapshot(toLabel: $0) ?? own.anySnapshot(named: $0) }
        for snapshot in snapshots { try (removal?.copy ?? own).setPinned(snapshot, isPinned) }
        if output.json {
            Terminal.write(json: .array(snapshots.map { ["name": $0.name, "id": $0.id, "pinned": isPinned] }))
        } else {
            for snapshot in snapshots { Terminal.write(isPinned ? "\(snapshot.name): pinned" : "\(snapshot.name): not pinned") }
        }
    }
}

struct UnpinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Let retention remove backups again.",
        discussion: """
            Example:
              backupfs unpin before-upgrade
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var remote: ChangedRemoteOption
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups' names, or \"latest\".", valueName: "snap"), completion: .snapshot)
    var snapshots: [String]

    func run() throws { try Pinning.run(store, remote, snapshots, isPinned: false, output) }
}
