import BackupCore
import Formats
import SystemIO

/// `reports/NAME.html`: the report of an operation as one page that needs nothing else, with links into the tree.
struct ReportPage {
    private let report: OperationReport
    private let parts: PageParts

    init(_ report: OperationReport, _ language: Language) {
        self.report = report
        parts = PageParts(language: language)
    }

    /// The bytes of the file.
    var html: [UInt8] {
        let record = report.record
        let title = "\(record.operation.rawValue) \(parts.language.text(SystemClock.localTime(record.startedAt)))"
        let header = "<h1>\(HTMLText.escaped(title))</h1>\n"
        return parts.page(title: "\(title) - backupfs", header: header, main: result + facts + text + links)
    }

    private var result: String {
        let record = report.record
        let tone =
            switch record.result {
            case .ok: record.facts.error == nil && !record.facts.hasFailedHook ? "good" : "bad"
            case .failed, .refused: "bad"
            case .cancelled, .skipped: ""
            }
        return parts.paragraph(.verbatim(record.result.rawValue), tone)
    }

    private var facts: String {
        let rows = report.rows.map { label, value in
            "<tr><th scope=\"row\">\(parts.text(label))</th><td><bdi>\(parts.text(value))</bdi></td></tr>\n"
        }
        return parts.table("Operation", "<tbody>\n\(rows.joined())</tbody>\n")
    }

    private var text: String {
        guard !report.text.isEmpty else { return "" }
        return "<p class=\"text\"><bdi>\(HTMLText.escaped(report.text))</bdi></p>\n"
    }

    /// What it made may have been removed or renamed since then.
    private var links: String {
        let facts = report.record.facts
        var items = [(PageLink.address([Array(ReadmeText.dashboard.utf8)], levelsUp: 1), parts.text("State"))]
        if let name = facts.snapshot, report.record.operation != .forget {
            let address = PageLink.address([Array("snapshots".utf8), Array(name.utf8)], isFolder: true, levelsUp: 1)
            items.append((address, HTMLText.escaped(MessageText.shortened(name, limit: MessageText.nameLimit))))
        }
        if let name = facts.safetyBackup {
            let address = PageLink.address([Array("safety".utf8), Array(name.utf8)], levelsUp: 1)
            items.append((address, HTMLText.escaped(MessageText.shortened(name, limit: MessageText.nameLimit))))
        }
        let list = items.map { "<li><a href=\"\($0.0)\"><bdi>\($0.1)</bdi></a></li>\n" }
        return parts.section("Links", "<ul>\n\(list.joined())</ul>\n")
    }
}
