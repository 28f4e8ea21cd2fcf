import ArgumentParser
import BackupCore
import Operations
import SystemIO

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

    /// - Parameter look: what the server of a repository on one is asked.
    func open(look: ServerLook = .news) throws(BackupError) -> Store {
        wait?.begin()
        let store = try passwords.open(path(), log: log.overrides, look: look)
        Terminal.language = store.language
        warnIfStale(store)
        return store
    }

    private func warnIfStale(_ store: Store) {
        guard let staleness = store.staleness else { return }
        Terminal.writeError("warning: \(staleness.summary) What is shown was read before.")
    }
}

/// The option of verbs that can read a remote's copy of the repository.
struct RemoteCopyOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Read the copy of the repository in this remote, instead of the repository.", valueName: "name"))
    var remote: String?

    init() {}
}

/// The option of verbs that can change a remote's copy of the repository.
struct ChangedRemoteOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Change the copy of the repository in this remote, instead of the repository.", valueName: "name"),
        completion: .remote)
    var remote: String?

    init() {}

    /// The copy in the remote; `nil` without the option.
    func open(_ store: Store, isJSON: Bool) throws(BackupError) -> RemoteRemoval? {
        guard let remote else { return nil }
        let printer = ProgressPrinter(isJSON: isJSON)
        defer { printer.finish() }
        return try RemoteRemoval(store: store, remote: remote, progress: printer.handler)
    }
}

extension StoreOptions {
    /// Opens the store, or the store with the copy of its repository in a remote.
    func open(_ options: RemoteCopyOption, isJSON: Bool = false) throws(BackupError) -> Store {
        guard let remote = options.remote else { return try open() }
        wait?.begin()
        let printer = ProgressPrinter(isJSON: isJSON)
        let opened = Result { () throws(BackupError) in
            try passwords.open(path(), log: log.overrides, remote: remote, progress: printer.handler)
        }
        printer.finish()
        let store = try opened.get()
        Terminal.language = store.language
        warnIfStale(store)
        return store
    }
}

extension LogLevel: ExpressibleByArgument {}

/// The log options of one command, which override the settings and the environment.
struct LogOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "How much is logged (default: $BACKUPFS_LOG_LEVEL, else the store's settings, else info).", valueName: "level"))
    var logLevel: LogLevel?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The file to log to; \"-\" for standard error (default: $BACKUPFS_LOG_FILE, else what the store's settings say).",
            valueName: "file"), completion: .file())
    var logFile: String?

    init() {}

    var overrides: LogOverrides {
        var overrides = LogOverrides.environment
        if let logLevel { overrides.level = logLevel }
        if logFile == "-" {
            overrides.destination = .stderr
        } else if let logFile {
            overrides.destination = .file
            overrides.path = FileSystem.absolutePath(logFile)
        }
        return overrides
    }

    /// The options for another process of this program.
    var arguments: [String] {
        (logLevel.map { ["--log-level", $0.rawValue] } ?? [])
            + (logFile.map { ["--log-file", $0 == "-" ? $0 : FileSystem.absolutePath($0)] } ?? [])
    }
}

/// Output options of a verb.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON for programs.")
    var json = false

    init() {}
}

/// `--wait`: how long a command waits for a lock.
struct WaitingTime: ExpressibleByArgument {
    private static let endless = "unlimited"

    /// `nil` for no limit.
    let seconds: Int64?

    init?(argument: String) {
        if argument == Self.endless || argument.isEmpty {
            seconds = nil
            return
        }
        guard let sum = Self.sum(argument) else { return nil }
        seconds = sum
    }

    private static func sum(_ text: String) -> Int64? {
        // `m` means minutes: waits of months are not useful.
        guard let parts = TimeUnit.parts(of: text, m: .minutes) else { return nil }
        var sum: Int64 = 0
        for (number, unit) in parts {
            guard let seconds = unit.secondCount else { return nil }
            sum += Int64(number) * seconds
        }
        return sum
    }

    func begin() {
        LockTimeout.begin(seconds: seconds) { holder in
            if Terminal.isErrorTerminal || Terminal.verbosity == .verbose { Terminal.writeError("Waiting: \(holder)") }
        }
    }

    /// Adds a value to the option where it has none: the parser knows only options that require a value and options without one.
    /// - Returns: the words of the command line, without the program's name.
    static func completed(_ arguments: [String]) -> [String] {
        let option = "--wait"
        var words: [String] = []
        var isOver = false
        for word in arguments.dropFirst() {
            if words.last == option, !isOver {
                words.removeLast()
                // A word that is not a duration is the next argument.
                if sum(word) != nil {
                    words.append("\(option)=\(word)")
                    continue
                }
                words.append("\(option)=\(endless)")
            }
            if word == "--" { isOver = true }
            words.append(word)
        }
        if words.last == option, !isOver { words[words.endIndex - 1] = "\(option)=\(endless)" }
        return words
    }
}
