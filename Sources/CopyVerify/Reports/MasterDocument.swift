import BackupCore
import Formats
import PhotoData
import SystemIO

/// The report over many jobs, for people.
struct MasterDocument {
    let summary: MasterSummary
    /// What could not be read: the report may lack jobs.
    let problems: [BackupError]
    let preferences: ReportPreferences
    let texts: ReportTexts
    let time: Timestamp
    let logo: PagePicture?

    private func text(_ message: Message) -> String { texts.text(message) }

    func draw(on canvas: some ReportCanvas) throws(BackupError) {
        let title = preferences.title.map { PageText.text($0) } ?? text("MASTER TRANSFER REPORT")
        try canvas.begin(title: title, logo: logo)
        try canvas.facts([(text("Generated"), texts.time(time))] + ReportPeople.facts(preferences, texts))
        try drawVerdict(canvas)
        try drawSummary(canvas)
        if let notes = preferences.notes {
            try canvas.heading(1, text("PRODUCTION NOTES"))
            try canvas.paragraph(ReportPeople.lines(notes))
        }
        if !problems.isEmpty {
            try canvas.heading(1, text("What could not be read"))
            try canvas.list(.bad, problems.map { PageText.text(text($0.summary)) })
        }
        for (camera, transfers) in summary.cameras {
            let name = camera.map { PageText.text($0) } ?? text("no camera recognised")
            let count = transfers.count
            try canvas.heading(
                1, text(.plural(count, one: "\(name) (\(count) transfer)", other: "\(name) (\(count) transfers)")))
            for transfer in transfers { try draw(transfer, canvas) }
        }
    }

    private func drawVerdict(_ canvas: some ReportCanvas) throws(BackupError) {
        let count = summary.transfers.count
        guard count > 0 else { return try canvas.notice(.quiet, text("No transfers were found.")) }
        let bad = summary.transfers.filter { $0.verdict != .everyByte }.count
        if bad == 0, problems.isEmpty {
            try canvas.notice(
                .good,
                text(
                    .plural(
                        count, one: "Every byte of \(count) transfer arrived.",
                        other: "Every byte of all \(count) transfers arrived.")))
        } else if bad == 0 {
            try canvas.notice(.bad, text("Every byte of the transfers that were found arrived. Not everything could be read."))
        } else {
            try canvas.notice(
                .bad,
                text(
                    .plural(
                        bad, one: "\(bad) of \(count) transfers is not proved: do not erase its source.",
                        other: "\(bad) of \(count) transfers are not proved: do not erase their sources.")))
        }
    }

    private func drawSummary(_ canvas: some ReportCanvas) throws(BackupError) {
        try canvas.heading(1, text("SUMMARY"))
        let largest = summary.largest.map {
            "\(PageText.path(FileSystem.lastComponent($0.source))) (\(ByteCount.text($0.totalBytes)))"
        }
        try canvas.facts([
            (text("Total Transfers"), "\(summary.transfers.count)"), (text("Total Files"), "\(summary.totalFiles)"),
            (text("Total Size"), ByteCount.text(summary.totalBytes)),
            (text("Verification Rate"), ReportTexts.percent(summary.verification)),
            (text("Average Files"), ReportTexts.decimal(summary.averageFiles)),
            (text("Average Size"), ByteCount.text(summary.averageBytes)),
            (text("Average Speed"), ReportTexts.speed(summary.averageSpeed)), (text("Largest Transfer"), largest),
            (text("Most Used Destination"), summary.mostUsedDestination.map { "\(PageText.path($0.path)) (\($0.count))" }),
        ])
    }

    private func draw(_ transfer: TransferRecord, _ canvas: some ReportCanvas) throws(BackupError) {
        try canvas.heading(2, PageText.path(FileSystem.lastComponent(transfer.source)))
        let verdict = ReportTexts.verdict(
            transfer.verdict, destinations: transfer.destinations.count, issues: transfer.issueCount)
        try canvas.notice(ReportTexts.tone(transfer.verdict), text(verdict))
        try canvas.facts([
            (text("Job"), PageText.text(transfer.id)), (text("Source"), PageText.path(transfer.source)),
            (text("Serial number"), transfer.camera?.serial.map { PageText.text($0) }),
            (text("Destinations"), transfer.destinations.map { PageText.path($0) }.joined(separator: ", ")),
            (text("Date"), texts.time(transfer.createdAt)),
            (text("Files"), "\(transfer.fileCount) (\(ByteCount.text(transfer.totalBytes)))"),
            (text("Copies"), copies(transfer)), (text("Verification"), transfer.verification.rawValue),
            (text("Duration"), DurationText.of(transfer.elapsedSeconds)),
        ])
    }

    private func copies(_ transfer: TransferRecord) -> String {
        let all = transfer.successCount.addingSaturating(transfer.issueCount)
        return text("\(transfer.successCount) of \(all)")
    }
}
