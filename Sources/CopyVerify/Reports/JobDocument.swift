import BackupCore
import Formats
import PhotoData
import SystemIO

/// The report of a job, for people.
struct JobDocument {
    let story: JobStory
    let preferences: ReportPreferences
    let texts: ReportTexts
    /// When the report is made.
    let time: Timestamp
    let logo: PagePicture?
    let pictures: [PagePicture]

    private var record: JobRecord { story.record }

    private func text(_ message: Message) -> String { texts.text(message) }

    var title: String {
        preferences.title.map { PageText.text($0) }
            ?? text("Transfer report: \(PageText.path(FileSystem.lastComponent(record.source)))")
    }

    func draw(on canvas: some ReportCanvas) throws(BackupError) {
        try canvas.begin(title: title, logo: logo)
        try canvas.facts(
            [(text("Generated"), texts.time(time))]
                + ReportPeople.facts(preferences, texts) + [(text("Source"), PageText.path(record.source))])
        try drawVerdict(canvas)
        try drawFailures(canvas)
        try drawProblems(canvas)
        if let notes = preferences.notes {
            try canvas.heading(1, text("Notes"))
            try canvas.paragraph(ReportPeople.lines(notes))
        }
        try drawSource(canvas)
        try drawDestinations(canvas)
        try drawRuns(canvas)
        if !pictures.isEmpty {
            try canvas.heading(1, text("Pictures"))
            for picture in pictures { try canvas.picture(picture) }
        }
        try drawFiles(canvas)
    }

    // MARK: What counts

    private func drawVerdict(_ canvas: some ReportCanvas) throws(BackupError) {
        let verdict = ReportTexts.verdict(story.verdict, destinations: story.destinations.count, issues: story.issueCount)
        try canvas.notice(ReportTexts.tone(story.verdict), text(verdict))
        for destination in story.destinations {
            guard let failure = destination.failure else { continue }
            let path = PageText.path(destination.place.path)
            try canvas.notice(.bad, text("Nothing more was copied to \(path): \(PageText.text(failure))"))
        }
        for destination in story.destinations where destination.isInMemory {
            let path = PageText.path(destination.place.path)
            try canvas.notice(
                .bad, text("\(path) lies in the memory of the machine: its copies are gone when the machine stops."))
        }
        if story.successCount > 0 {
            try canvas.paragraph(texts.proofs(story).map(text).joined(separator: " "))
        }
        if story.runs.count > 1 {
            let count = story.runs.count
            try canvas.paragraph(
                text("The job was continued: it has had \(count) runs. What an earlier run had verified was not copied again."))
        }
    }

    private func drawFailures(_ canvas: some ReportCanvas) throws(BackupError) {
        guard story.issueCount > 0 else { return }
        let failureCount = story.destinations.reduce(0) { $0 + $1.counts.failureCount }
        let missing = story.destinations.filter { $0.missingCount > 0 }
        try canvas.heading(1, text("Not copied"))
        for destination in missing {
            let (count, path) = (destination.missingCount, PageText.path(destination.place.path))
            try canvas.paragraph(
                text(
                    .plural(
                        count, one: "The job did not come to \(count) file for \(path).",
                        other: "The job did not come to \(count) files for \(path).")))
        }
        guard failureCount > 0 else { return }
        if failureCount > canvas.rowLimit { try canvas.paragraph(text(Self.bounded(canvas.rowLimit, failureCount))) }
        try canvas.table([
            PageColumn(text("Status"), weight: 4), PageColumn(text("File"), weight: 9),
            PageColumn(text("Destination"), weight: 7), PageColumn(text("Reason"), weight: 12),
        ])
        try story.forEachFailure(upTo: canvas.rowLimit) { (row) throws(BackupError) in
            try canvas.row(
                row.isDropped ? .quiet : .bad,
                [
                    text(ReportTexts.status(row.status)), PageText.path(row.path), PageText.path(row.destination),
                    row.isDropped ? text("the destination had failed before") : PageText.text(row.message ?? ""),
                ])
        }
    }

    private static func bounded(_ limit: UInt64, _ count: UInt64) -> Message {
        "This list has the first \(limit) of \(count). All of them are in the reports as CSV and JSON, and in results.json of the job."
    }

    private func drawProblems(_ canvas: some ReportCanvas) throws(BackupError) {
        if !story.problems.isEmpty {
            try canvas.heading(1, text("Problems"))
            try canvas.list(.bad, story.problems.map { PageText.text($0) })
        }
        if !story.warnings.isEmpty {
            try canvas.heading(1, text("Warnings"))
            try canvas.list(.plain, story.warnings.map { PageText.text($0) })
        }
    }

    // MARK: The job

    private func drawSource(_ canvas: some ReportCanvas) throws(BackupError) {
        let source = story.source
        try canvas.heading(1, text("Source"))
        var period: String?
        if let oldest = texts.time(source.oldest), let newest = texts.time(source.newest) { period = "\(oldest) – \(newest)" }
        try canvas.facts([
            (text("Folder"), PageText.path(record.source)),
            (text("Camera"), source.camera.map { PageText.text($0.name) } ?? text("no camera recognised")),
            (text("Serial number"), source.camera?.serial.map { PageText.text($0) }),
            (text("Files"), "\(source.fileCount)"),
            (text("Size"), "\(ByteCount.text(source.totalBytes)) (\(source.totalBytes) B)"),
            (text("Files from"), period),
            (text("Kinds"), kinds),
            (text("File system"), PageText.text(record.sourcePlace.fileSystemType)),
            (text("Left out (hidden names)"), source.hiddenCount > 0 ? "\(source.hiddenCount)" : nil),
        ])
    }

    /// `mov 12, xml 12`.
    private var kinds: String? {
        let known = story.source.extensions.sorted { ($1.count, $0.name) < ($0.count, $1.name) }
        guard !known.isEmpty else { return nil }
        let shown = known.prefix(12).map { kind in
            "\(kind.name.isEmpty ? text("without an ending") : PageText.text(kind.name)) \(kind.count)"
        }
        return shown.joined(separator: ", ") + (known.count > shown.count ? ", …" : "")
    }

    private func drawDestinations(_ canvas: some ReportCanvas) throws(BackupError) {
        try canvas.heading(1, text("Destinations"))
        try canvas.table([
            PageColumn(text("Destination"), weight: 10), PageColumn(text("File system"), weight: 4),
            PageColumn(text("Copied"), weight: 3, isNumber: true), PageColumn(text("Size"), weight: 4, isNumber: true),
            PageColumn(text("Missing"), weight: 3, isNumber: true), PageColumn(text("Read back"), weight: 6),
        ])
        for destination in story.destinations {
            var methods: [String] = []
            if destination.directCount > 0 { methods.append("\(text("direct")) \(destination.directCount)") }
            if destination.droppedCount > 0 { methods.append("\(text("dropped")) \(destination.droppedCount)") }
            try canvas.row(
                destination.issueCount > 0 || destination.failure != nil ? .bad : .plain,
                [
                    PageText.path(destination.place.path), PageText.text(destination.place.fileSystemType),
                    "\(destination.counts.successCount)", ByteCount.text(destination.successBytes),
                    "\(destination.issueCount)", methods.isEmpty ? "–" : methods.joined(separator: ", "),
                ])
        }
    }

    private func drawRuns(_ canvas: some ReportCanvas) throws(BackupError) {
        try canvas.heading(1, text("Job"))
        let performance = ReportPerformance(story)
        let mode = record.options.verification
        try canvas.facts([
            (text("Job"), record.id),
            (text("Verification"), [mode.rawValue, ReportTexts.algorithms(mode)].filter { !$0.isEmpty }.joined(separator: ": ")),
            (text("State"), text(story.state.label(isRunning: story.isRunning))),
            (text("Copies verified"), ReportTexts.percent((story.verifiedCount, story.successCount + story.issueCount))),
            (text("Duration"), DurationText.of(story.elapsedSeconds)),
            (text("Throughput"), ReportTexts.speed(performance.throughput)),
            (text("Peak speed"), ReportTexts.speed(performance.peak)),
            (text("Waited most for"), performance.bottleneck.map(bottleneck)),
        ])
        guard story.runs.count > 1 else { return }
        try canvas.heading(2, text("Runs"))
        try canvas.table([
            PageColumn(text("Began"), weight: 4), PageColumn(text("Ended"), weight: 4), PageColumn(text("State"), weight: 3),
            PageColumn(text("Duration"), weight: 2, isNumber: true), PageColumn(text("Read"), weight: 3, isNumber: true),
        ])
        for (index, run) in story.runs.enumerated() {
            let isNow = run.endedAt == nil && story.isRunning && index == story.runs.count - 1
            try canvas.row(
                .plain,
                [
                    texts.time(run.startedAt) ?? "", texts.time(run.endedAt) ?? "–",
                    text((run.state ?? .inProgress).label(isRunning: isNow)),
                    run.endedAt == nil ? "–" : DurationText.of(run.elapsedSeconds),
                    run.endedAt == nil ? "–" : ByteCount.text(run.readBytes),
                ])
        }
    }

    private func bottleneck(_ name: String) -> String {
        switch name {
        case "source": text("the source")
        case "processor": text("the processor")
        default: PageText.path(name)
        }
    }

    private func drawFiles(_ canvas: some ReportCanvas) throws(BackupError) {
        guard story.successCount > 0 else { return }
        try canvas.heading(1, text("Files"))
        if story.successCount > canvas.rowLimit {
            try canvas.paragraph(text(Self.bounded(canvas.rowLimit, story.successCount)))
        }
        try canvas.table([
            PageColumn(text("Status"), weight: 4), PageColumn(text("File"), weight: 9),
            PageColumn(text("Destination"), weight: 7), PageColumn(text("Size"), weight: 4, isNumber: true),
            PageColumn("SHA-256", weight: 14),
        ])
        try story.folder.forEachRow(upTo: canvas.rowLimit, where: \.status.isSuccess) { (row) throws(BackupError) in
            let name =
                row.target == row.path ? PageText.path(row.path) : "\(PageText.path(row.path)) → \(PageText.path(row.target))"
            try canvas.row(
                .good,
                [
                    text(ReportTexts.status(row.status)), name, PageText.path(row.destination), ByteCount.text(row.size),
                    row.digests.sha256.map { PageText.text($0.hexadecimal) } ?? "–",
                ])
        }
    }
}

/// What a person wants on a report.
enum ReportPeople {
    static func facts(_ preferences: ReportPreferences, _ texts: ReportTexts) -> [(name: String, value: String?)] {
        [
            (texts.text("Production"), preferences.production.map { PageText.text($0) }),
            (texts.text("Client"), preferences.client.map { PageText.text($0) }),
            (texts.text("Company"), preferences.company.map { PageText.text($0) }),
        ]
    }

    /// Notes keep their lines.
    static func lines(_ notes: String) -> String {
        notes.split(separator: "\n", omittingEmptySubsequences: false).prefix(200).map { PageText.text(String($0)) }
            .joined(separator: "\n")
    }
}
