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
            CheckCommand.self,
            PasswordCommand.self, ConfigCommand.self, CancelCommand.self, RetryCommand.self,
            DeleteCommand.self, UndeleteCommand.self, ForgetCommand.self, PruneCommand.self, UnlockCommand.self, AppCommand.self,
        ],
        defaultSubcommand: MountCommand.self)

    public init() {}

    /// Prints an error in the form that the command line requests.
    static func complain(_ error: BackupError) {
        // For an export, --json is the form of the data, not of messages.
        if CommandLine.arguments.contains("--json"), CommandLine.arguments.dropFirst().first != "export" {
            Terminal.complain(json: error, status: ExitStatus(error.code))
        } else {
            Terminal.complain(error)
        }
    }

    /// Parses the command line, runs the command and ends the process with its exit code (`ExitStatus`).
    public static func runAndExit() -> Never {
        // A reader that goes away (`backupfs ls | head`) causes an error of write(2), not a signal.
        signal(SIGPIPE, SIG_IGN)
        do {
            try RepeatedOption.check(CommandLine.arguments)
            try MistypedVerb.checkHelp(CommandLine.arguments)
            var command = try parseAsRoot(WaitingTime.completed(CommandLine.arguments))
            CancellingSignals.enable()
            StallWatch.enable {
                Terminal.complain(
                    BackupError(
                        .interrupted, "the storage does not answer, so the operation was ended as it is",
                        remedy: "When the storage answers again, the next operation clears away what was left."))
            }
            try command.run()
            Glibc.exit(ExitStatus.success.rawValue)
        } catch let error as BackupError {
            complain(error)
            Glibc.exit(ExitStatus(error.code).rawValue)
        } catch let code as ExitCode {
            Glibc.exit(code.rawValue)
        } catch {
            // Help and version are thrown as errors too, but are successes.
            let isSuccess = exitCode(for: error).isSuccess
            let text = fullMessage(for: error)
            if !text.isEmpty {
                if isSuccess { Terminal.say(verbatim: text) } else { Terminal.complain(verbatim: text) }
            }
            Glibc.exit(isSuccess ? ExitStatus.success.rawValue : ExitStatus.usage.rawValue)
        }
    }
}
