import AppData
import ArgumentParser
import BackupCore
import BackupRepository
import Export
import Glibc
import Operations
import Restore
import SystemIO

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore the app's data from a backup or a file, or write a backup into a folder.",
        discussion: """
            With --target nothing of the app is touched: the backup's files are written into that folder, which must be empty or not be there.

            The file (.json, .zip, .tar or .sqlite) or backup is checked whole first; then a safety backup is made; then all of it is restored
            in one step, or nothing.

            With the strategy replace all data that is there goes first. With merge, records that are not there come, and those that are
            get the file's values. With skip, those that are there stay as they are. --dry-run tells how many would be what.

            Example:
              backupfs restore old.json --dry-run
              backupfs restore before-upgrade --yes
              backupfs restore other-phone.json --strategy merge --yes
              ssh phone cat export.json | backupfs restore - --yes
              backupfs restore latest --target /tmp/latest
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions
    @Argument(
        help: ArgumentHelp("A file (\"-\" is standard input), or a backup's name (or \"latest\").", valueName: "file|snap"),
        completion: .file())
    var source: String
    @Option(
        name: .long,
        help: ArgumentHelp("Write the backup's files into this folder, and leave the app's data alone.", valueName: "dir"),
        completion: .directory)
    var target: String?
    @Option(
        name: .long,
        help: ArgumentHelp(
            "What happens to the data that is there: replace, merge or skip. Without it, what the app's definition says.",
            valueName: "strategy"))
    var strategy: ImportStrategy?
    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp("Restore the settings, or leave those that are there. Without it, what the app's definition says."))
    var settings: Bool?
    @Flag(
        name: .long,
        help: "Leave out files of an archive that are damaged or missing, say which, and restore the rest (exit code 3).")
    var allowDamaged = false
    @Flag(name: .long, help: "Restore the backup of another store, also of another machine or app.")
    var otherSource = false
    @Flag(name: .long, help: "Only say what would happen.")
    var dryRun = false
    @Flag(name: .long, help: "Do not ask.")
    var yes = false

    func run() throws {
        // A safety backup comes first.
        DescriptorLimit.raise()
        let store = try store.open()
        let printer = ProgressPrinter(isJSON: output.json)
        defer { printer.finish() }
        if let target {
            SuccessorWarning.show(store)
            return try write(store, to: target, printer)
        }
        let restore = RestoreRunner(
            store: store, restoresSettings: settings, allowsDamage: allowDamaged, allowsOtherSources: otherSource)
        if source == "-" {
            SuccessorWarning.show(store)
            return try restore.withStandardInput { try run(restore, $0, nil, printer, store) }
        }
        let again = restore.command(restoring: source, strategy: strategy)
        var mustWarn = true
        try retrying(printer) {
            // A refusal of `latest` says the same.
            let content = try restore.source(named: source)
            if mustWarn { SuccessorWarning.show(store) }
            mustWarn = false
            try run(restore, content, again, printer, store)
        }
    }

    /// On a terminal, whoever sees it fail may have it tried again, with the file or the disk in order by then; elsewhere he is told how.
    private func retrying(_ printer: ProgressPrinter, _ body: () throws -> Void) throws {
        while true {
            do {
                return try body()
            } catch let error as BackupError where isWorthTrying(error) && !dryRun && !output.json {
                printer.finish()
                Terminal.complain(error)
                guard Terminal.isInputTerminal, Terminal.isErrorTerminal else {
                    Terminal.complain("Run the same command to try again.")
                    throw ExitCode(ExitStatus(error.code).rawValue)
                }
                let answer = Terminal.ask("Try again? [y/N] ")?.lowercased()
                guard answer == "y" || answer == "yes" else { throw ExitCode(ExitStatus(error.code).rawValue) }
            }
        }
    }

    /// Not what the same command line would only bring again, nor what has been done but for some files.
    private func isWorthTrying(_ error: BackupError) -> Bool {
        switch error.code {
        case .interrupted, .usage, .sourceUnreadable, .notSupported: false
        default: true
        }
    }

    /// - Parameter again: the command that restores the same.
    private func run(
        _ restore: RestoreRunner, _ content: ImportSource, _ again: String?, _ printer: ProgressPrinter, _ store: Store
    ) throws {
        if dryRun {
            let preview = try restore.preview(content, strategy: strategy)
            show(preview.json, preview.text)
            return
        }
        // Who is not asked needs nothing to decide by: the restore checks everything itself, and need not do it twice.
        if !yes { try ask(restore, content) }
        let result: RestoreReport
        do {
            result = try restore.run(content, strategy: strategy, retry: again, progress: printer.handler)
        } catch {
            OperationNotice(.restore, named: content.name, of: store, error: error).tell()
            throw error
        }
        printer.finish()
        show(result.json, .joined([.verbatim(Terminal.successMark), result.text], separator: ""))
        OperationNotice(.restore, named: content.name, of: store).tell()
        let unreadCount = result.unreadFileCount
        guard unreadCount == 0 else {
            throw BackupError(
                .sourceUnreadable, Snapshot.unreadFilesMessage(unreadCount), path: content.name,
                remedy: "Everything else has been restored. Look for them in another backup, or in the safety backup.")
        }
        guard let count = result.checked?.leftOut.count, count > 0 else { return }
        throw BackupError(
            .sourceUnreadable,
            .plural(
                count, one: "\(count) file was damaged or missing and has been left out",
                other: "\(count) files were damaged or missing and have been left out"),
            path: content.name,
            remedy: "Everything else has been restored. Look for them in another backup.")
    }

    /// Shows what would happen, and goes on only if that is wanted.
    private func ask(_ restore: RestoreRunner, _ content: ImportSource) throws {
        let replacesAll = strategy ?? restore.defaultStrategy(of: content) == .replace
        // A file that cannot be restored is told as such, whoever asks.
        let preview = try restore.preview(content, strategy: strategy)
        guard Terminal.isInputTerminal else {
            throw BackupError(
                .usage,
                replacesAll
                    ? "a restore replaces all data and nobody can be asked"
                    : "a restore changes the data and nobody can be asked",
                path: content.name,
                remedy: "Add --yes.")
        }
        Terminal.complain(preview.text)
        let consent: Message = replacesAll ? "Import and Replace All Data" : "Import"
        let answer = Terminal.ask("Type \"\(consent)\" or \"Cancel\" [Cancel]: ")
        guard TypedAnswer.matches(answer, ["yes", consent]) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
    }

    private func show(_ json: OrderedJSON, _ text: Message) {
        if output.json { Terminal.say(json.prettyText) } else { Terminal.say(text) }
    }

    private func write(_ store: Store, to target: String, _ printer: ProgressPrinter) throws {
        let snapshot = try store.anySnapshot(named: source)
        try store.requireWritable(target)
        let restore = FolderRestore(store: store)
        if dryRun {
            try restore.check(snapshot, to: target)
            let totals = snapshot.record.root.totals
            tell("would_write", snapshot, target, totals.fileCount, totals.byteCount, isDone: false)
            return
        }
        let report = try restore.run(snapshot, to: target, progress: printer.handler)
        printer.finish()
        tell("summary", snapshot, target, report.fileCount, report.byteCount, isDone: true)
        if let first = report.firstIncomplete { Terminal.complain(first.note(count: report.incompleteCount)) }
        guard report.failureCount > 0 else { return }
        throw BackupError(
            .repositoryDamaged, "\(report.failureCount) files or folders of the backup could not be read and were left out",
            path: snapshot.name.description, remedy: "The others are whole. See: backupfs check",
            findings: report.failures.map { "\($0.path): \($0.error)" })
    }

    private func tell(
        _ type: String, _ snapshot: Snapshot, _ target: String, _ files: UInt64, _ bytes: UInt64, isDone: Bool
    ) {
        if output.json {
            let document = OrderedJSON.members([
                "message_type": .text(type), "snapshot": .text(snapshot.name.description), "target": .text(target),
                "files": .integer(files), "bytes": .integer(bytes),
            ])
            Terminal.say(document.compactText + [10])
        } else {
            let size = ByteCount.text(bytes)
            Terminal.say(
                isDone
                    ? .plural(
                        files, one: "Wrote \(files) file, \(size), of \(snapshot.name) to \(target).",
                        other: "Wrote \(files) files, \(size), of \(snapshot.name) to \(target).")
                    : .plural(
                        files, one: "Would write \(files) file, \(size), of \(snapshot.name) to \(target).",
                        other: "Would write \(files) files, \(size), of \(snapshot.name) to \(target)."))
        }
    }
}
