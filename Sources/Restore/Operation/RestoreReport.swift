import AppData
import BackupCore
import Formats
import SystemIO

/// The report of a restore or a preview: `last.json` and `last.txt`, and the output of the commands.
public struct RestoreReport: Sendable {
    /// How it ended; the raw value is its name in JSON.
    public enum Result: String, Sendable {
        case success
        /// The file was not accepted; nothing was changed.
        case refused
        /// It failed midway; everything is as before.
        case failed
        /// It failed, and could be neither finished nor undone yet; the next start does that.
        case unfinished
        /// A crash interrupted it before the data was changed.
        case undone
        /// A crash interrupted it after the data was changed; the next start finished it.
        case completed
        /// Preview: only says what would happen.
        case preview
    }

    static let deletionWarning: Message = "Importing will DELETE ALL existing data. This cannot be undone."

    public var result: Result
    /// The name of what was restored, for people.
    public var fileName: String
    /// When the restore began.
    public var startedAt: Timestamp
    /// When it ended.
    public var finishedAt: Timestamp
    /// What was, or would be, done with the existing data.
    public var strategy: ImportStrategy
    public var checked: CheckedImport?
    public var outcome: RestoreOutcome?
    /// What the app's other strategies would do, for a preview only.
    public var others: [RestoreOutcome] = []
    /// The safety backup's file name in `safety/`.
    public var safetyBackup: String?
    /// Its ID; `nil` when none was made.
    public var safetySnapshot: SnapshotID?
    public var error: BackupError?
    /// The number of files missing from the restored backup, because they could not be read when it was created; only if all
    /// media were replaced.
    public var unreadFileCount = 0
    /// What the safety backup lacks of data that the restore leaves alone.
    public var safetyGaps: BackupError?
    /// Another warning about the safety backup.
    public var safetyWarning: Message?
    /// A folder with media that the restore has taken out of the media folder, and that are in no backup.
    public var keptMediaPath: String?
    /// The folder in it with logs that could not be moved to their databases.
    public var separatedLogsPath: String?
    /// Why the replaced files could not be removed yet.
    public var leftover: BackupError?
    /// The folder where a dropped file replaces all data, if there is one.
    public var undoFolder: String? = "restore/"
    /// The command that undoes the restore, also without a mount.
    public var undoCommand: String?
    /// User commands that ran.
    public var hooks: [Hook] = []
    /// After a failure: which of the app's lost data was recovered anyway; `nil` when the data is as before.
    public var broughtBack: Message?
    /// Size of the submitted file; `nil` after a crash, when it is no longer known.
    public var sizeBytes: UInt64?

    public init(
        result: Result, fileName: String, startedAt: Timestamp, finishedAt: Timestamp,
        strategy: ImportStrategy = .replace, checked: CheckedImport? = nil, outcome: RestoreOutcome? = nil,
        safetyBackup: String? = nil, error: BackupError? = nil
    ) {
        self.result = result
        self.fileName = fileName
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.strategy = strategy
        self.checked = checked
        self.outcome = outcome
        self.safetyBackup = safetyBackup
        self.error = error
    }

    /// Adds what is left when the data is entirely new or entirely old.
    public mutating func note(_ end: RestoreCleanup) {
        keptMediaPath = end.keptMediaPath ?? keptMediaPath
        separatedLogsPath = end.separatedLogsPath ?? separatedLogsPath
        leftover = end.leftover
    }

    /// One sentence.
    var message: Message {
        if let error { return error.message }
        switch result {
        case .success: return successMessage
        case .preview: return "The file can be restored."
        case .completed:
            return strategy == .replace
                ? "The restore was interrupted after the data had been replaced, and has been finished."
                : "The restore was interrupted after the data had been changed, and has been finished."
        case .undone:
            if let broughtBack { return "The restore was interrupted. \(broughtBack)" }
            return strategy == .replace
                ? "The restore was interrupted before the data had been replaced. The data is as it was."
                : "The restore was interrupted before the data had been changed. The data is as it was."
        case .refused, .failed: return "The data was not imported."
        case .unfinished: return "The restore could not be finished yet."
        }
    }

    public var json: OrderedJSON {
        let summary = checked?.summary
        let document: OrderedJSON = [
            "result": result.rawValue, "success": isNew, "file": fileName, "format": checked?.format.rawValue,
            "strategy": strategy.rawValue, "startedAt": startedAt.wholeSeconds, "finishedAt": finishedAt.wholeSeconds,
            "message": message, "restoreError": restoreError, "errors": errors, "warnings": warnings,
            "source": summary.map { Self.describe($0) },
            "counts": OrderedJSON.object((summary?.toldCounts ?? []).map { .init($0.name, $0.count) }),
            "dateRange": summary?.dateRange.map { [$0.earliest, $0.latest] },
            "unknownFields": OrderedJSON.object(
                (summary?.unknownFields ?? [:]).sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }),
            "safetyBackup": safetyBackup, "sizeBytes": sizeBytes, "keptMedia": keptMediaPath, "leftOut": checked?.leftOut ?? [],
            "hooks": hooks,
        ]
        let other = others.map { OrderedJSON.Member($0.records.strategy.rawValue, $0) }
        return document.adding(outcome?.json ?? [:]).adding(restoredFiles)
            .adding(others.isEmpty ? [:] : ["otherStrategies": OrderedJSON.object(other)])
    }

    private static func describe(_ summary: ImportSummary) -> OrderedJSON {
        [
            "createdAt": summary.createdAt, "deviceName": summary.deviceName.map { MessageText.shortened($0) },
            "appVersion": summary.appVersion.map { MessageText.shortened($0) }, "schemaVersion": summary.schemaVersion,
        ]
    }

    private var successMessage: Message {
        if strategy != .replace, let outcome { return outcome.message }
        return checked?.summary.successMessage ?? "The data was imported."
    }

    /// The name of the error in the apps' own code, if there is one: both mean that nothing was changed.
    private var restoreError: String? {
        guard let error, error.code != .interrupted else { return nil }
        if error.message.english.hasPrefix(ImportMessages.extractionFailureStart) { return "extractionFailed" }
        return result == .refused && Self.isOfContent(error.code) ? "validationFailed" : nil
    }

    /// Whether the submitted file is at fault, and not the disk or another operation.
    private static func isOfContent(_ code: BackupError.Code) -> Bool {
        [.invalidContent, .damagedContent, .unsupportedVersion, .tooLarge].contains(code)
    }

    /// `photoFilesRestored`: the number of restored files, named after the records that they belong to.
    private var restoredFiles: OrderedJSON {
        guard let outcome, let definition = checked?.definition,
            let name =
                (MediaPointer(definition).map { definition.collections[$0.collection] }
                ?? definition.collections.first { $0.source == .files })?.singular,
            name.utf8.allSatisfy({ (97...122).contains($0) })
        else { return [:] }
        return ["\(name)FilesRestored": outcome.media?.restoredCount ?? 0]
    }

    /// Whether the data is now that of the file.
    public var isNew: Bool { result == .success || result == .completed }

    /// Whether the submitted file may hold data that the app does not have now: skipped records, or what a warning names.
    public var leavesSome: Bool {
        let skipsRecords = outcome?.records.collections.contains { $0.skipped > 0 } ?? false
        let skipsMedia = (outcome?.media?.skipped ?? 0) > 0
        return strategy == .skip && (skipsRecords || skipsMedia) || !warnings.isEmpty
    }

    private var warnings: [Message] {
        var warnings = (checked?.warnings ?? []) + (outcome?.notes ?? [])
        if unreadFileCount > 0 {
            warnings.append(
                .plural(
                    unreadFileCount,
                    one:
                        "The backup lacks \(unreadFileCount) file or folder that could not be read when it was made; its manifest.json names it. What lay there is in the safety backup, which is pinned",
                    other:
                        "The backup lacks \(unreadFileCount) files or folders that could not be read when it was made; its manifest.json names them. What lay there is in the safety backup, which is pinned"
                ))
        }
        if let safetyGaps { warnings.append("The safety backup is not whole: \(safetyGaps.message)") }
        if let safetyWarning { warnings.append(safetyWarning) }
        if let keptMediaPath {
            warnings.append(
                isNew
                    ? "Media files that came or changed after the safety backup, or that cannot be removed, were kept in \(keptMediaPath)"
                    : "Media files that were in the way when the old ones came back were kept in \(keptMediaPath)")
        }
        if let separatedLogsPath {
            warnings.append(
                "A database was used while its log was being moved to it. The log was not put beside it, and is in \(separatedLogsPath)"
            )
        }
        if let leftover {
            warnings.append(
                "What the restore has replaced could not be cleared away yet, and the next backupfs command tries again: \(leftover.message)"
            )
        }
        return warnings
    }

    private var errors: [Message] {
        guard let error else { return [] }
        return [error.message] + details
    }

    private var details: [Message] { error?.details ?? [] }

    /// For a person, several lines.
    public var text: Message { .joined(lines, separator: "\n") }

    /// The consequences of a failure, to be shown after the error itself.
    public var remains: [Message] {
        switch result {
        case .refused: ["Nothing was changed."]
        case .failed: [broughtBack ?? Self.unchanged] + safetyLines
        case .unfinished: [Self.unfinished] + safetyLines
        case .success, .completed, .undone, .preview: []
        }
    }

    private static let unchanged: Message = "The data is as it was."
    private static let unfinished: Message = "The next backupfs command finishes the restore or undoes it, as a whole."

    private var safetyLines: [Message] {
        guard let safetyBackup else { return [] }
        var lines: [Message] = ["Safety backup of the data before: safety/\(safetyBackup)"]
        guard isNew else { return lines }
        if let undoCommand { lines.append("Undo with: \(undoCommand)") }
        if let undoFolder { lines.append("Or in the mount: cp safety/\(safetyBackup) \(undoFolder)") }
        return lines
    }

    /// The text, line by line.
    public var lines: [Message] {
        var lines: [Message] = []
        let name = MessageText.shortened(fileName, limit: MessageText.nameLimit)
        switch result {
        case .success, .completed: lines.append("\(name): \(message)")
        case .preview: lines.append("\(name): can be restored. Nothing was changed.")
        case .refused, .failed: lines.append("\(name): not restored. \(message)")
        case .unfinished: lines.append("\(name): not finished. \(message)")
        case .undone: lines.append("\(name): \(message)")
        }
        lines.append("Time: \(SystemClock.localTime(finishedAt))")
        if let summary = checked?.summary {
            if let device = summary.deviceName { lines.append("Source device: \(MessageText.shortened(device))") }
            if let time = summary.createdAt { lines.append("Export date: \(SystemClock.localTime(time))") }
            if let version = summary.appVersion { lines.append("App version: \(MessageText.shortened(version))") }
            lines.append("Schema version: \(summary.schemaVersion)")
            for count in summary.toldCounts { lines.append("\(CollectionHeading.of(count.plural)): \(count.count)") }
            if let range = summary.dateRange {
                let (earliest, latest) = (SystemClock.localTime(range.earliest), SystemClock.localTime(range.latest))
                lines.append("\(CollectionHeading.of(range.plural)) from \(earliest) to \(latest)")
            }
            for (field, count) in summary.unknownFields.sorted(by: { $0.key < $1.key }) {
                lines.append(
                    .plural(
                        count, one: "Unknown field, ignored: \(field) (\(count) time)",
                        other: "Unknown field, ignored: \(field) (\(count) times)"))
            }
        }
        for outcome in [outcome].compactMap({ $0 }) + others { lines += outcome.lines }
        for warning in warnings { lines.append("Warning: \(warning)") }
        for finding in details { lines.append("- \(finding)") }
        for left in checked?.leftOut ?? [] { lines.append("Left out, since it is damaged or missing: \(left)") }
        for hook in hooks { lines += hook.lines }
        if let remedy = error?.remedy { lines.append(remedy) }
        switch result {
        // A bad file stays bad on a retry.
        case .refused where error.map { !$0.code.mayPass && $0.code != .interrupted } == true:
            lines.append(broughtBack ?? Self.unchanged)
        case .refused, .failed: lines.append(broughtBack ?? "The data is as it was. Copy the file again to try again.")
        case .unfinished: lines.append(Self.unfinished)
        case .success, .completed, .undone: break
        case .preview:
            if strategy == .replace {
                lines.append("A safety backup of all data is made first. The restore can be taken back with: backupfs undo")
                lines.append(Self.deletionWarning)
            }
        }
        return lines + safetyLines
    }
}

extension RestoreReport {
    /// A user command that ran before or after the restore.
    public struct Hook: JSONConvertible, Sendable {
        private static let lineLimit = 20

        /// `before-restore` or `after-restore`.
        public let name: String
        /// 128 plus the signal number when a signal ended it.
        public let exitCode: Int32
        /// Whether it was ended because it took too long.
        public let hasTimedOut: Bool
        /// The end of its output.
        public let output: String

        public init(name: String, exitCode: Int32, hasTimedOut: Bool, output: String) {
            self.name = name
            self.exitCode = exitCode
            self.hasTimedOut = hasTimedOut
            self.output = output
        }

        /// Whether it ended by itself with 0.
        public var isSuccess: Bool { exitCode == 0 && !hasTimedOut }

        /// How it ended, as text.
        public var outcomeText: Message {
            if hasTimedOut { return "it took too long and was ended" }
            return exitCode > 128 ? "ended by signal \(exitCode - 128)" : "exit code \(exitCode)"
        }

        /// The last lines of its output.
        public var outputLines: [String] { output.split(separator: "\n").suffix(Self.lineLimit).map(String.init) }

        public var json: OrderedJSON {
            ["name": name, "exitCode": exitCode, "timedOut": hasTimedOut, "output": output]
        }

        var lines: [Message] {
            isSuccess ? [] : ["Warning: the command \(name) failed: \(outcomeText)"] + outputLines.map { "- \($0)" }
        }
    }
}
