import ArgumentParser
import BackupCore
import Operations
import SystemIO

struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try again what failed last: a backup, or a restore that was asked for by a command.",
        discussion: """
            Runs the command that stands in status.json as lastError.retry, and ends as that does. Does nothing when it has gone well since.

            Example:
              backupfs retry
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Do not ask before a restore.")
    var yes = false

    func run() throws {
        // The command asks for the password, if there is one.
        let path = try store.path()
        guard let failure = try FailedOperation.of(storeAt: path), !failure.isOver else {
            throw BackupError(
                .notFound, "nothing has failed that has not gone well since", path: path,
                remedy: "Look at what was done with: backupfs history")
        }
        guard let line = failure.retry, var words = ShellWords.words(in: line)?.dropFirst(),
            let verb = words.first.flatMap({ OperationKind(rawValue: $0) }), verb == .backup || verb == .restore
        else {
            throw BackupError(
                .notSupported, "what failed last was not asked for by a command that could be tried again: \(failure.name)",
                path: path, remedy: "Copy the file into restore/ once more, or run the command that you want.")
        }
        // Standard output is for what the command has to say.
        if !output.json { Terminal.complain("Trying again: \(line)") }
        var options = store.passwords.arguments + store.log.arguments
        if output.json { options.append("--json") }
        if yes, verb == .restore { options.append("--yes") }
        words.insert(contentsOf: options, at: words.startIndex + 1)
        var command = try BackupFS.parseAsRoot(Array(words))
        try command.run()
    }
}
