import AppData
import ArgumentParser
import BackupCore
import BackupRepository
import Export
import Operations
import Restore
import SystemIO

/// A restore into the app's data as a command makes it: with a preview and a question on a terminal, a report, and another try where that may help.
struct CommandRestore {
    let store: Store
    let runner: RestoreRunner
    /// `nil` for what the app's definition says.
    let strategy: ImportStrategy?
    let isJSON: Bool
    /// Whether only what would happen is told.
    let isDryRun: Bool
    /// Whether a user is asked first.
    let asks: Bool
    let printer: ProgressPrinter

    /// - Parameters:
    ///   - again: the command that restores the same; `nil` where there is none.
    ///   - lead: what is said before a preview.
    ///   - content: looked up for each try.
    func run(again: String?, lead: Message? = nil, _ content: () throws(BackupError) -> ImportSource) throws {
        while true {
            var report: RestoreReport?
            do {
                return try restore(content(), again, lead) { report = $0 }
            } catch let error as BackupError where !isJSON && !isDryRun && error.code != .usage && error.code != .sourceUnreadable
            {
                printer.finish()
                Terminal.complain(error)
                if error.code != .interrupted { for line in report?.remains ?? [] { Terminal.complain(line) } }
                guard try mayTryAgain(error) else { throw ExitCode(ExitStatus(error.code).rawValue) }
            }
        }
    }

    /// On a terminal, a user who sees it fail may have it tried again, with the file or the disk in order by then; elsewhere a line says that the same
    /// command does, where it can.
    private func mayTryAgain(_ error: BackupError) throws(BackupError) -> Bool {
        guard error.code != .interrupted, error.code != .notSupported else { return false }
        guard Terminal.isInputTerminal, Terminal.isErrorTerminal else {
            if error.code.mayPass { Terminal.complain("Run the same command to try again.") }
            return false
        }
        let answer = try Terminal.ask("Try again? [y/N] ")?.lowercased()
        return answer == "y" || answer == "yes"
    }

    private func restore(
        _ content: ImportSource, _ again: String?, _ lead: Message?, failed: (RestoreReport) -> Void
    ) throws {
        if isDryRun {
            let preview = try runner.preview(content, strategy: strategy)
            if isJSON { return Terminal.say(preview.json.prettyText) }
            return Terminal.say(.joined((lead.map { [$0] } ?? []) + preview.lines, separator: "\n"))
        }
        // Without a question, nothing is needed to decide by: the restore checks everything itself, and need not do it twice.
        let shown = asks ? try ask(content, lead) : []
        let result: RestoreReport
        do {
            result = try runner.run(content, strategy: strategy, retry: again, progress: progress, failed: failed)
        } catch {
            OperationNotice(.restore, named: content.name, of: store, error: error).tell()
            throw error
        }
        printer.finish()
        if isJSON {
            Terminal.say(result.json.prettyText)
        } else {
            // What stands above the question already is not said again.
            let lines = result.lines.filter { !shown.contains($0) }
            Terminal.tell(.joined([.verbatim(Terminal.successMark), .joined(lines, separator: "\n")], separator: ""))
        }
        OperationNotice(.restore, named: content.name, of: store).tell()
        try requireAllFiles(result, of: content)
    }

    /// A failure on the way is said when it happens: what follows may take its time.
    private var progress: ProgressHandler {
        { [printer, isJSON] progress in
            if !isJSON, !Cancellation.isProcessEnding, progress.phase == RestoreOperation.rollingBackMessage {
                printer.finish()
                Terminal.complain(progress.phase)
            }
            printer.handler(progress)
        }
    }

    private func requireAllFiles(_ result: RestoreReport, of content: ImportSource) throws(BackupError) {
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
    /// - Returns: what was shown.
    private func ask(_ content: ImportSource, _ lead: Message?) throws(BackupError) -> [Message] {
        let replacesAll = strategy ?? runner.defaultStrategy(of: content) == .replace
        // A file that cannot be restored is an error whether anybody can be asked or not.
        let preview = try runner.preview(content, strategy: strategy)
        guard Terminal.isInputTerminal else {
            throw BackupError(
                .usage,
                replacesAll
                    ? "a restore replaces all data and nobody can be asked"
                    : "a restore changes the data and nobody can be asked",
                path: content.name,
                remedy: "Add --yes.")
        }
        let lines = (lead.map { [$0] } ?? []) + preview.lines
        Terminal.complain(.joined(lines, separator: "\n"))
        let consent: Message = replacesAll ? "Import and Replace All Data" : "Import"
        let answer = try Terminal.ask(
            "Type \"\(consent)\" (or \"yes\"), or \"Cancel\" [Cancel]: ", isDestructive: replacesAll)
        guard TypedAnswer.matches(answer, ["yes", consent]) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
        return lines
    }
}
