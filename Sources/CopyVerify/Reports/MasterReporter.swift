import BackupCore
import Formats
import PhotoData
import SystemIO

/// Makes one report over many jobs.
public struct MasterReporter {
    private let summary: MasterSummary
    private let problems: [BackupError]
    private let preferences: ReportPreferences
    private let language: Language
    private let time: Timestamp
    private let logo: PagePicture?

    /// - Throws: for a logo that cannot be read.
    public init(_ search: TransferSearch, _ preferences: ReportPreferences, language: Language) throws(BackupError) {
        summary = MasterSummary(search.transfers)
        problems = search.problems
        self.preferences = preferences
        self.language = language
        time = SystemClock.now()
        let isDrawn = preferences.formats.contains { $0 == .html || $0 == .pdf }
        if isDrawn, let path = preferences.logo { logo = try ReportPictures.logo(path) } else { logo = nil }
    }

    /// Makes the reports in a folder, which is made if it is missing. Nothing that is there is replaced.
    /// - Returns: the paths, and why some could not be made.
    public func make(in folder: String) throws(BackupError) -> JobReporter.Outcome {
        var outcome = JobReporter.Outcome()
        let target = try ReportTarget(folder: folder, prefix: "backupfs_master_report", time: time)
        for format in preferences.formats {
            do throws(BackupError) {
                outcome.paths.append(try target.write(format) { (file) throws(BackupError) in try write(format, to: file) })
            } catch {
                if error.code == .interrupted { throw error }
                outcome.errors.append(error)
            }
        }
        return outcome
    }

    private func write(_ format: ReportFormat, to file: DraftFile) throws(BackupError) {
        let document = MasterDocument(
            summary: summary, problems: problems, preferences: preferences, texts: ReportTexts(language: language), time: time,
            logo: logo)
        switch format {
        case .json: try file.add(json.prettyText)
        case .csv: try writeCSV(to: file)
        case .html:
            let canvas = HTMLCanvas(to: file, language: language)
            try document.draw(on: canvas)
            try canvas.finish()
        case .pdf:
            try PDFCanvas.draw(to: file, time: time) { (canvas) throws(BackupError) in try document.draw(on: canvas) }
        }
    }

    private var json: OrderedJSON {
        let verification = summary.verification
        let rate = verification.all == 0 ? 0 : Double(verification.success) / Double(verification.all) * 100
        let head: OrderedJSON = [
            "report_version": 1, "generated_at": time, "title": preferences.title, "production": preferences.production,
            "client": preferences.client, "company": preferences.company, "notes": preferences.notes,
        ]
        let numbers: OrderedJSON = [
            "transfers": summary.transfers.count, "files": summary.totalFiles, "bytes": summary.totalBytes,
            "matches": summary.successCount, "issues": summary.issueCount, "verification_rate": ReportJSON.decimal(rate),
            "average_files": ReportJSON.decimal(summary.averageFiles), "average_bytes": summary.averageBytes,
            "average_mbps": ReportJSON.decimal(summary.averageSpeed / 1e6),
            "elapsed_seconds": ReportJSON.decimal(summary.elapsedSeconds),
            "largest_transfer": summary.largest?.id, "most_used_destination": summary.mostUsedDestination?.path,
        ]
        let cameras = summary.cameras.map { group -> OrderedJSON in
            ["camera": group.camera, "transfers": group.transfers.map(\.json)]
        }
        return head.adding(["summary": numbers, "cameras": cameras, "problems": problems.map(\.summary)])
    }

    private func writeCSV(to file: DraftFile) throws(BackupError) {
        try file.add(
            CSVLine.text([
                "Job", "Camera", "Serial Number", "Source", "Destinations", "Files", "Bytes", "Matched", "Issues", "Verification",
                "Verdict", "Created", "Ended", "Duration",
            ]))
        for transfer in summary.transfers {
            try file.add(
                CSVLine.text([
                    transfer.id, transfer.camera?.name ?? "", transfer.camera?.serial ?? "", transfer.source,
                    transfer.destinations.joined(separator: "; "), "\(transfer.fileCount)", "\(transfer.totalBytes)",
                    "\(transfer.successCount)", "\(transfer.issueCount)", transfer.verification.rawValue,
                    transfer.verdict.rawValue, ISO8601.format(transfer.createdAt),
                    transfer.endedAt.map { ISO8601.format($0) } ?? "", DurationText.of(transfer.elapsedSeconds),
                ]))
        }
        try file.add(CSVLine.text(["# Summary"]))
        for (name, value) in [
            ("Total Transfers", "\(summary.transfers.count)"), ("Total Files", "\(summary.totalFiles)"),
            ("Total Bytes", "\(summary.totalBytes)"), ("Verification Rate", ReportTexts.percent(summary.verification)),
        ] {
            try file.add(CSVLine.text(["# \(name)", value]))
        }
        for problem in problems { try file.add(CSVLine.text(["# Problem", problem.summary.english])) }
    }
}
