import ArgumentParser

struct UnpinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Let retention remove backups again.",
        discussion: """
            Example:
              backupfs unpin before-upgrade
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(help: ArgumentHelp("Backups' names, or \"latest\".", valueName: "snap"), completion: .snapshot)
    var snapshots: [String]

    func run() throws { try Pinning.run(store, snapshots, isPinned: false, output) }
}
