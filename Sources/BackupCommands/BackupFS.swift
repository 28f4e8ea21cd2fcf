import ArgumentParser
import BackupCore
import Glibc
import SystemIO

/// The program: `backupfs VERB …`, and `backupfs MOUNTPOINT` for `backupfs mount MOUNTPOINT`.
public struct BackupFS: ParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "backupfs",
        abstract: "Back up an app's data, and browse every backup as ordinary files.",
        discussion: """
            backupfs MOUNTPOINT mounts a folder in which the app's live data and all its backups are files. \
            Make a folder in snapshots/ to back up; copy a file into restore/ to restore it.

            Backup files are not encrypted, unless the repository was made with `backupfs init --encrypt`. Exports never are.

            Example:
              backupfs /mnt/backups
              mkdir /mnt/backups/snapshots/before-upgrade
              cp old.json /mnt/backups/restore/
            """,
        version: ProgramVersion.text,
        subcommands: [
            InitCommand.self, MountCommand.self, UnmountCommand.self, BackupCommand.self, SnapshotsCommand.self,
            ListCommand.self, RestoreCommand.self, UndoCommand.self, ExportCommand.self, DiffCommand.self, FindCommand.self,
            TagCommand.self,
            PinCommand.self, UnpinCommand.self, StatsCommand.self, VerifyCommand.self, StatusCommand.self, HistoryCommand.self,
            CheckCommand.self, SyncCommand.self, CopySnapshotsCommand.self, DeviceSyncCommand.self,
            PasswordCommand.self, ConfigCommand.self, RemoteCommand.self, CancelCommand.self, RetryCommand.self,
            DeleteCommand.self, UndeleteCommand.self, ForgetCommand.self, PruneCommand.self, UnlockCommand.self, AppCommand.self,
            PhotoInfoCommand.self, ThumbnailsCommand.self, StarCommand.self, UnstarCommand.self, CopyCommand.self,
            JobsCommand.self, CameraCommand.self, CompareCommand.self, ChecksumCommand.self, CacheCommand.self,
            ReportCommand.self, ServeCommand.self, DesktopCommand.self,
        ],
        defaultSubcommand: MountCommand.self)

    public init() {}

    /// Parses the command line, runs the command and ends the process with its exit code (`ExitStatus`).
    public static func runAndExit() -> Never {
        // A reader that goes away (`backupfs ls | head`) causes an error of write(2), not a signal.
        signal(SIGPIPE, SIG_IGN)
        // So does a file that reaches the limit of its user (`ulimit -f`): its draft is then removed.
        signal(SIGXFSZ, SIG_IGN)
        do {
            try RepeatedOption.check(CommandLine.arguments)
            try VerbSuggestion.checkHelp(CommandLine.arguments)
            var command = try parseAsRoot(WaitingTime.completed(CommandLine.arguments))
            CancellingSignals.enable()
            StallWatch.enable {
                Terminal.writeError(
                    BackupError(
                        .interrupted, "the storage does not answer, so the operation was abandoned",
                        remedy: "When the storage answers again, the next operation clears away what was left."))
            }
            try command.run()
            exitNow(ExitStatus.success.rawValue)
        } catch let error as BackupError {
            Terminal.writeErrorAsRequested(error)
            exitNow(ExitStatus(error.code).rawValue)
        } catch let code as ExitCode {
            exitNow(code.rawValue)
        } catch {
            // Help and version are thrown as errors too, but are successes.
            let isSuccess = exitCode(for: error).isSuccess
            let text = fullMessage(for: error)
            if !text.isEmpty {
                if isSuccess { Terminal.write(verbatim: text) } else { Terminal.writeError(verbatim: text) }
            }
            exitNow(isSuccess ? ExitStatus.success.rawValue : ExitStatus.usage.rawValue)
        }
    }

    /// Threads may still be in a transfer that nothing waits for: what exit(3) takes away of OpenSSL would crash them.
    private static func exitNow(_ code: Int32) -> Never {
        fflush(nil)
        _exit(code)
    }
}

/// If the word in a command's place is not a command, it is a mountpoint: `backupfs /mnt/backups`. But a word close to a command
/// is more likely to be a typo.
enum VerbSuggestion {
    /// Names that other programs use for the same commands.
    private static let others = [
        "list": "ls", "dir": "ls", "unmount": "umount", "remove": "delete", "rm": "delete", "rmdir": "delete", "log": "history",
        "create": "backup", "extract": "restore", "settings": "config", "info": "status", "backups": "snapshots",
        "dump": "export",
        "search": "find", "stop": "cancel", "expire": "forget", "gc": "prune", "compact": "prune",
    ]

    /// - Parameters:
    ///   - word: the supposed mountpoint.
    ///   - arguments: the command line, whose command may be `mount`.
    /// - Returns: the intended command; `nil` if it is a mountpoint.
    static func meant(by word: String, arguments: [String]) -> String? {
        guard !word.contains("/"), word != ".", word != "..", !arguments.dropFirst().contains("mount") else { return nil }
        if let verb = others[word.lowercased()] { return verb }
        let verbs = BackupFS.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let near = SpellingSuggestion.nearest(to: word, among: verbs) else { return nil }
        // An existing folder whose name is not nearly the same is intended as one: mnt is not mount.
        guard (try? FileSystem.exists(word)) != false else { return near }
        return abs(near.utf8.count - word.utf8.count) <= 1 && word.utf8.count > 3 ? near : nil
    }

    /// Whether a word can be neither a command nor a mountpoint: there is no such folder, and the word is not a path to create
    /// one at.
    static func isUnknown(_ word: String, arguments: [String]) -> Bool {
        guard !word.contains("/"), word != ".", word != "..", !arguments.dropFirst().contains("mount") else { return false }
        return (try? FileSystem.exists(word)) == false
    }

    /// Otherwise `move --help` would show the help of `mount`, the default for a command line without a command.
    /// - Throws: `usage`.
    static func checkHelp(_ arguments: [String]) throws(BackupError) {
        guard arguments.contains("--help") || arguments.contains("-h"), let word = arguments.dropFirst().first,
            !word.hasPrefix("-"), word != "help",
            !BackupFS.configuration.subcommands.contains(where: { $0.configuration.commandName == word }),
            isUnknown(word, arguments: arguments)
        else { return }
        throw BackupError(
            .usage, "there is no command “\(MessageText.shortened(word))”",
            remedy: meant(by: word, arguments: arguments).map { "Did you mean \($0)?" } ?? "See: backupfs --help")
    }
}

/// Detects an option that is given twice with two values: the parser would silently use the last one, and a user who believes
/// that both databases are backed up has a backup of one.
enum RepeatedOption {
    /// Options that collect their values.
    private static let collecting: [String: Set<String>] = [
        "--tag": ["snapshots"], "--keep-tag": ["forget"], "--add": ["tag"], "--remove": ["tag"], "--set": ["tag"],
        "--rule": ["star"], "--md5": ["restore"], "--hash": ["copy"], "--manifest": ["copy"],
        "--algorithm": ["checksum"],
    ]

    /// Short names of options with a value, where they do not collect values.
    private static let short: [String: (name: String, verbs: Set<String>)] = [
        "-o": ("--output", ["export", "app"]), "-l": ("--keep-last", ["forget"]),
    ]

    /// - Throws: `usage`.
    static func check(_ arguments: [String]) throws(BackupError) {
        let words = arguments.dropFirst().prefix { $0 != "--" }
        let verb = words.first { !$0.hasPrefix("-") } ?? ""
        var values: [String: String] = [:]
        var isValueOf: String?
        for word in words {
            if let name = isValueOf {
                isValueOf = nil
                // Without a value of its own it is a flag, and repeating a flag has no effect.
                if !word.hasPrefix("--") {
                    try note(name, word, verb, &values)
                    continue
                }
            }
            if let option = short[word], option.verbs.contains(verb) { isValueOf = option.name }
            guard word.hasPrefix("--") else { continue }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 {
                try note(String(parts[0]), String(parts[1]), verb, &values)
            } else {
                isValueOf = word
            }
        }
    }

    private static func note(
        _ name: String, _ value: String, _ verb: String, _ values: inout [String: String]
    ) throws(BackupError) {
        guard collecting[name]?.contains(verb) != true else { return }
        guard let before = values.updateValue(value, forKey: name), before != value else { return }
        throw BackupError(
            .usage, "\(name) is given twice: \(MessageText.shortened(before)) and \(MessageText.shortened(value))",
            remedy: "Give it once. For two databases or two folders, make two stores.")
    }
}
