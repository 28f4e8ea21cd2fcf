import AppData
import ArgumentParser
import BackupCore
import BackupRepository
import Formats
import Operations
import Restore
import SystemIO

/// A command's restore into the app's data: with a preview and a question on a terminal, a report, and a retry where that may
/// help.
struct CommandRestore {
    let store: Store
    let runner: RestoreRunner
    /// `nil` for the app definition's default.
    let strategy: ImportStrategy?
    let isJSON: Bool
    /// Whether to only show what would happen.
    let isDryRun: Bool
    /// Whether to ask the user first.
    let asks: Bool
    let printer: ProgressPrinter

    /// - Parameters:
    ///   - again: the command that repeats the restore; `nil` if there is none.
    ///   - lead: a message shown before a preview.
    ///   - content: evaluated for each attempt.
    func run(again: String?, lead: Message? = nil, _ content: () throws(BackupError) -> ImportSource) throws {
        while true {
            var report: RestoreReport?
            do {
                return try restore(content(), again, lead) { report = $0 }
            } catch let error as BackupError where !isJSON && !isDryRun && error.code != .usage && error.code != .sourceUnreadable
            {
                printer.finish()
                Terminal.writeError(error)
                if error.code != .interrupted { for line in report?.remains ?? [] { Terminal.writeError(line) } }
                guard try mayTryAgain(error) else { throw ExitCode(ExitStatus(error.code).rawValue) }
            }
        }
    }

    /// On a terminal, a user who sees the failure may retry after fixing the file or the disk. Elsewhere a line says that the
    /// same command retries, if that may help.
    private func mayTryAgain(_ error: BackupError) throws(BackupError) -> Bool {
        guard error.code != .interrupted, error.code != .notSupported else { return false }
        guard Terminal.isInputTerminal, Terminal.isErrorTerminal else {
            if error.code.mayPass { Terminal.writeError("Run the same command to try again.") }
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
            if isJSON { return Terminal.write(json: preview.json) }
            return Terminal.write(.joined((lead.map { [$0] } ?? []) + preview.lines, separator: "\n"))
        }
        // Without a question no preview is needed: the restore checks everything itself, and need not do it twice.
        let shown = asks ? try ask(content, lead) : []
        let result: RestoreReport
        do {
            result = try runner.run(content, strategy: strategy, retry: again, progress: progress, failed: failed)
        } catch {
            OperationNotification(.restore, named: content.name, of: store, error: error).send()
            throw error
        }
        printer.finish()
        if isJSON {
            Terminal.write(json: result.json)
        } else {
            // Do not repeat what was shown above the question.
            let lines = result.lines.filter { !shown.contains($0) }
            Terminal.writeUnlessQuiet(.joined([.verbatim(Terminal.successMark), .joined(lines, separator: "\n")], separator: ""))
        }
        OperationNotification(.restore, named: content.name, of: store).send()
        try requireAllFiles(result, of: content)
    }

    /// Reports a failure during the restore when it happens: the rollback may take a while.
    private var progress: ProgressHandler {
        { [printer, isJSON] progress in
            if !isJSON, !Cancellation.isProcessEnding, progress.phase == RestoreOperation.rollingBackMessage {
                printer.finish()
                Terminal.writeError(progress.phase)
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

    /// Shows what would happen, and continues only if the user agrees.
    /// - Returns: the messages shown.
    private func ask(_ content: ImportSource, _ lead: Message?) throws(BackupError) -> [Message] {
        let replacesAll = strategy ?? runner.defaultStrategy(of: content) == .replace
        // A file that cannot be restored is an error whether or not a user can be asked.
        let preview = try runner.preview(content, strategy: strategy)
        guard Terminal.isInputTerminal else {
            throw BackupError(
                .usage,
                replacesAll
                    ? "a restore replaces all data, and there is no terminal to confirm it on"
                    : "a restore changes the data, and there is no terminal to confirm it on",
                path: content.name,
                remedy: "Add --yes.")
        }
        let lines = (lead.map { [$0] } ?? []) + preview.lines
        Terminal.writeError(.joined(lines, separator: "\n"))
        let consent: Message = replacesAll ? "Import and Replace All Data" : "Import"
        let answer = try Terminal.ask(
            "Type \"\(consent)\" (or \"yes\"), or \"Cancel\" [Cancel]: ", isDestructive: replacesAll)
        guard TypedConfirmation.matches(answer, ["yes", consent]) else {
            throw BackupError(.interrupted, "cancelled; nothing was changed")
        }
        return lines
    }
}
