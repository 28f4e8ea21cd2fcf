import ArgumentParser
import BackupCore
import Operations

/// Options every verb has.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The store's folder (default: $BACKUPFS_STORE, else $XDG_DATA_HOME/backupfs, else ~/.local/share/backupfs).",
            valueName: "dir"), completion: .directory)
    var store: String?
    @OptionGroup var passwords: PasswordOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var verbosity: VerbosityOptions

    init() {}

    func path() throws(BackupError) -> String { try StoreLocation.resolve(store) }

    func open() throws(BackupError) -> Store {
        let store = try passwords.open(path(), log: log.overrides)
        Terminal.language = store.language
        return store
    }
}
