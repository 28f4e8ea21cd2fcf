import ArgumentParser
import BackupCore
import Operations

/// Options of every verb.
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
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Wait for a lock that another operation has, for so long (30s, 10min, 2h) or, without a time, for as long as it takes.",
            valueName: "time"))
    var wait: WaitingTime?

    init() {}

    func path() throws(BackupError) -> String { try StoreLocation.resolve(store) }

    func open() throws(BackupError) -> Store {
        wait?.begin()
        let store = try passwords.open(path(), log: log.overrides)
        Terminal.language = store.language
        return store
    }
}
