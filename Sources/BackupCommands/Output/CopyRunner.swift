import ArgumentParser
import BackupCore
import CopyVerify
import Formats
import Operations
import SystemIO

/// Runs a copy for a command, and reports it.
struct CopyRunner {
    private static let shownErrorLimit = 10

    let isJSON: Bool
    /// `nil` when its settings cannot be read.
    let log: FolderCopyLog?
    /// Which reports are made at the end, from what the job has recorded of that.
    let reports: (ReportPreferences?) -> ReportPreferences

    /// - Parameter place: the folder of all jobs.
    func begin(_ source: String, _ destinations: [String], _ options: CopyOptions, in place: String) throws {
        let printer = CopyProgressPrinter(isJSON: isJSON)
        defer { printer.finish() }
        try run(printer) { () throws(BackupError) in
            let plan = try CancellingSignals.run { () throws(BackupError) in
                var check = CopyCheck(source: source, destinations: destinations, options: options)
                return try check.run(progress: printer.showSearch)
            }
            return try CopyJob.make(plan, source: source, options: options, in: place)
        }
    }

    /// - Parameter name: the job's ID, or its folder.
    func resume(_ name: String, in place: String) throws {
        let printer = CopyProgressPrinter(isJSON: isJSON)
        defer { printer.finish() }
        try run(printer) { () throws(BackupError) in
            let folder = try JobFolder.open(name, in: place)
            return try CancellingSignals.run { () throws(BackupError) in
                try CopyJob.resume(folder, progress: printer.showSearch)
            }
        }
    }

    private func run(_ printer: CopyProgressPrinter, _ make: () throws(BackupError) -> CopyJob) throws {
        let (startedAt, start) = (SystemClock.now(), SystemClock.monotonicNanoseconds())
        log?.noteBeginning()
        let (job, preferences, summary): (CopyJob, ReportPreferences, CopySummary)
        do throws(BackupError) {
            job = try make()
            (preferences, summary) = try run(job, printer)
        } catch {
            log?.note(error, startedAt: startedAt, startedNanoseconds: start)
            throw error
        }
        try finish(job, preferences, summary)
    }

    private func run(
        _ job: CopyJob, _ printer: CopyProgressPrinter
    ) throws(BackupError) -> (ReportPreferences, CopySummary) {
        let preferences = reports(try job.folder.reportPreferences())
        try job.folder.setReportPreferences(preferences)
        printer.begin(job.folder.record.id)
        let summary = try CancellingSignals.run { () throws(BackupError) in
            let stop = Cancellation()
            return try stop.run { () throws(BackupError) in
                try job.run(stop: stop, version: ProgramVersion.text, phase: printer.begin, progress: printer.show)
            }
        }
        printer.finish()
        return (preferences, summary)
    }

    private func finish(_ job: CopyJob, _ preferences: ReportPreferences, _ summary: CopySummary) throws {
        let hasEnded = summary.state == .completed || summary.state == .failed
        if isJSON {
            let paths = hasEnded ? ReportRunner(preferences: preferences).make(job.folder) : []
            Terminal.write(jsonLine: CopyJobReport.json(summary, job.folder).adding(["reports": paths]))
        } else {
            report(summary, job.folder)
            if hasEnded { showReports(preferences, job.folder) }
        }
        log?.noteEnd(of: job.folder)
        switch summary.state {
        case .completed: return
        case .paused, .cancelled: throw ExitCode(ExitStatus.interrupted.rawValue)
        case .idle, .inProgress, .failed:
            let isPart = summary.successCount > 0 || summary.failureCount == 0
            throw ExitCode((isPart ? ExitStatus.incomplete : .failure).rawValue)
        }
    }

    private func report(_ summary: CopySummary, _ folder: JobFolder) {
        for warning in summary.warnings.prefix(Self.shownErrorLimit) { Terminal.writeError("warning: \(warning)") }
        for line in CopyJobReport.lines(summary) { Terminal.writeUnlessQuiet(line) }
        if summary.state == .failed {
            for error in errors(folder) { Terminal.writeError(verbatim: error) }
        }
        let id = folder.record.id
        switch summary.state {
        case .completed: Terminal.writeUnlessQuiet("\(Terminal.successMark)Everything was copied. Job: \(id)")
        case .failed:
            Terminal.writeError(
                "Not everything was copied. All errors are in \(folder.errors). Try again with: backupfs copy --resume \(id)")
        case .paused, .cancelled, .idle, .inProgress:
            Terminal.writeError("Stopped. What is complete stays. Continue with: backupfs copy --resume \(id)")
        }
    }

    private func showReports(_ preferences: ReportPreferences, _ folder: JobFolder) {
        guard preferences.isEnabled else {
            return Terminal.writeUnlessQuiet("For a report: backupfs report \(folder.record.id)")
        }
        for path in ReportRunner(preferences: preferences).make(folder) { Terminal.writeUnlessQuiet("Report: \(path)") }
    }

    /// The first lines of `errors.txt`.
    private func errors(_ folder: JobFolder) -> [String] {
        let text = (try? FileSystem.readFile(folder.errors)) ?? []
        return String(decoding: text, as: UTF8.self).split(separator: "\n").lazy.filter { $0.hasPrefix("error: ") }
            .prefix(Self.shownErrorLimit).map(String.init)
    }
}

/// The end of a copy, in words and as JSON.
enum CopyJobReport {
    static func lines(_ summary: CopySummary) -> [Message] {
        let bytes = ByteCount.text(summary.info.totalBytes)
        let count = summary.info.fileCount
        var lines: [Message] = [
            .plural(
                count, one: "\(count) file (\(bytes)) in \(DurationText.of(summary.elapsedSeconds)):",
                other: "\(count) files (\(bytes)) in \(DurationText.of(summary.elapsedSeconds)):")
        ]
        if let camera = CameraReport.line(summary.info.camera) { lines.insert(camera, at: 0) }
        for part in summary.parts {
            let values = RowStatus.allCases.compactMap { status in
                part.counts.byStatus[status].map { Message.verbatim("\(status.rawValue) \($0)") }
            }
            lines.append("  \(part.path): \(.joined(values))")
        }
        lines += CameraReport.remarks(summary.info.camera)
        if summary.hiddenCount > 0 {
            lines.append(
                .plural(
                    summary.hiddenCount,
                    one: "\(summary.hiddenCount) name that begins with a dot was left out; --hidden copies it.",
                    other: "\(summary.hiddenCount) names that begin with a dot were left out; --hidden copies them."))
        }
        return lines
    }

    static func json(_ summary: CopySummary, _ folder: JobFolder) -> OrderedJSON {
        let parts = summary.parts.map { part -> OrderedJSON in
            let counts = part.counts.byStatus.sorted { $0.key.rawValue < $1.key.rawValue }
            return [
                "path": part.path, "succeeded": part.counts.successCount, "failed": part.counts.failureCount,
                "statuses": OrderedJSON.object(counts.map { .init($0.key.rawValue, $0.value) }),
                "error": part.error?.code.rawValue, "message": part.error?.message,
            ]
        }
        return [
            "message_type": "summary", "job": folder.record.id, "folder": folder.path, "state": summary.state.rawValue,
            "source": folder.record.source, "camera": summary.info.camera.json, "files": summary.info.fileCount,
            "bytes": summary.info.totalBytes,
            "bytes_read": summary.readBytes, "hidden": summary.hiddenCount,
            "elapsed_seconds": OrderedJSON.decimal((summary.elapsedSeconds * 1_000).rounded() / 1_000),
            "destinations": parts, "problems": summary.problems, "warnings": summary.warnings,
        ]
    }
}
