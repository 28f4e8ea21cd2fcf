import ArgumentParser
import BackupCore
import Operations
import SystemIO

struct RetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retry the last backup or restore command that failed.",
        discussion: """
            Runs the command that stands in status.json as lastError.retry, and ends as that does. Does nothing when it has gone well since, and in \
            a store that was copied or moved since.

            Example:
              backupfs retry
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Flag(name: .long, help: "Do not ask before a restore.")
    var yes = false

    func run() throws {
        // The repeated command asks for the password, if there is one.
        let path = try store.path()
        store.wait?.begin()
        guard let failure = try FailedOperation.of(storeAt: path), !failure.isOver else {
            throw BackupError(
                .notFound, "there is nothing to retry: what failed has succeeded since", path: path,
                remedy: "Look at what was done with: backupfs history")
        }
        guard let line = failure.retry, var words = ShellWords.words(in: line)?.dropFirst(),
            let verb = words.first.flatMap({ OperationKind(rawValue: $0) }), verb == .backup || verb == .restore
        else {
            throw BackupError(
                .notSupported, "the last failed operation cannot be retried: \(failure.name)",
                path: path, remedy: "Copy the file into restore/ once more, or run the command that you want.")
        }
        try Self.require(&words, areOf: path)
        // Standard output is for the repeated command.
        if !output.json {
            Terminal.writeError("Trying again: \(line)")
            Terminal.writeError(Self.age(of: failure))
        }
        var options = store.passwords.arguments + store.log.arguments
        if output.json { options.append("--json") }
        if yes, verb == .restore { options.append("--yes") }
        words.insert(contentsOf: options, at: words.startIndex + 1)
        var command = try BackupFS.parseAsRoot(Array(words))
        try command.run()
    }

    /// The command contains the path of the store in which it failed. In a copy of that store it would change the original's
    /// data. In a moved store it would work on whatever is now at the old place.
    private static func require(_ words: inout ArraySlice<String>, areOf store: String) throws(BackupError) {
        let option = "--store="
        let end = words.firstIndex(of: "--") ?? words.endIndex
        guard let index = words[..<end].firstIndex(where: { $0.hasPrefix(option) }) else {
            return words.insert(option + store, at: words.startIndex + 1)
        }
        let recorded = String(words[index].dropFirst(option.count))
        words[index] = option + store
        let identity = try FileSystem.identityIfPresent(store)
        guard identity == nil || (try? FileSystem.identityIfPresent(recorded)) != identity else { return }
        throw BackupError(
            .notPermitted, "what failed last, failed in another store: \(MessageText.shortened(recorded))", path: store,
            remedy: "If you want it in this store, run: backupfs \(ShellWords.text(of: Array(words)))")
    }

    /// A failure from long ago may no longer be relevant.
    private static func age(of failure: FailedOperation) -> Message {
        let time = SystemClock.localTime(failure.at)
        let minutes = max(0, SystemClock.now().seconds - failure.at.seconds) / 60
        let (hours, days) = (minutes / 60, minutes / 1440)
        if days > 0 {
            return .plural(days, one: "It failed at \(time), \(days) day ago.", other: "It failed at \(time), \(days) days ago.")
        }
        if hours > 0 {
            return .plural(
                hours, one: "It failed at \(time), \(hours) hour ago.", other: "It failed at \(time), \(hours) hours ago.")
        }
        return .plural(
            minutes, one: "It failed at \(time), \(minutes) minute ago.", other: "It failed at \(time), \(minutes) minutes ago.")
    }
}
