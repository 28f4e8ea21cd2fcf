import BackupCore
import Formats
import SystemIO

/// Lines of a CSV file (RFC 4180), for spreadsheets. A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a
/// formula, and these cells have names of files: such a cell gets an apostrophe in front.
enum CSVLine {
    static func text(_ cells: [String]) -> String { cells.map(cell).joined(separator: ",") + "\r\n" }

    private static func cell(_ text: String) -> String {
        let isFormula = text.unicodeScalars.first.map { "=+-@\t\r\n＝＋－＠".unicodeScalars.contains($0) } ?? false
        let harmless = isFormula ? "'\(text)" : text
        guard harmless.utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) }) else { return harmless }
        var quoted = "\""
        for scalar in harmless.unicodeScalars {
            if scalar == "\"" { quoted += "\"" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}

/// `report.csv`: a line for each file and destination, what failed first, and then the summary.
struct ReportCSV {
    let story: JobStory

    func write(to file: DraftFile) throws(BackupError) {
        try file.add(CSVLine.text(["Status", "File Path", "Target Path", "Details", "Timestamp"]))
        try story.forEachRowByWeight { (row) throws(BackupError) in
            try file.add(
                CSVLine.text([
                    row.status.rawValue, row.pathText, row.targetPath, Self.details(row),
                    row.recordedAt.map { ISO8601.format($0) } ?? "",
                ]))
        }
        let performance = ReportPerformance(story)
        try file.add(CSVLine.text(["# Summary"]))
        for (name, value) in [
            ("Total Files", "\(story.source.fileCount)"), ("Matched", "\(story.successCount)"),
            ("Issues", "\(story.issueCount)"), ("Duration", DurationText.of(performance.totalSeconds)),
            ("Files/Second", ReportTexts.decimal(performance.filesPerSecond)), ("Verdict", story.verdict.rawValue),
        ] {
            try file.add(CSVLine.text(["# \(name)", value]))
        }
        for problem in story.problems { try file.add(CSVLine.text(["# Problem", problem])) }
        for destination in story.destinations {
            if let failure = destination.failure {
                try file.add(CSVLine.text(["# Failed Destination", destination.place.path, failure]))
            }
        }
    }

    private static func details(_ row: RecordedRow) -> String {
        guard row.status.isSuccess else { return row.message ?? "" }
        return [row.digests.sha256.map { "SHA-256 \($0.hexadecimal)" }, row.readBack.map { "read back: \($0.rawValue)" }]
            .compactMap { $0 }
            .joined(separator: "; ")
    }
}
