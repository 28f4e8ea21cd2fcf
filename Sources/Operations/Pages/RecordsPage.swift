import BackupCore
import BackupRepository
import Formats
import SystemIO

/// `snapshots/NAME/index.html`: the records of a backup as tables that can be searched and sorted. It needs nothing else, and so
/// works from a copy, too.
public struct RecordsPage {
    /// Browsers do not show longer exports in a reasonable time.
    public static let exportLimitBytes: UInt64 = 64 << 20

    private let snapshot: Snapshot
    private let title: String
    private let parts: PageParts

    /// - Parameter store: the store that shows the backup, in whose language the page is.
    public init(of snapshot: Snapshot, in store: Store) {
        self.snapshot = snapshot
        title = store.definition.title
        parts = PageParts(language: store.language)
    }

    /// What precedes the export in the file, or all of it for an export beyond the limit.
    /// - Parameter exportSizeBytes: of the export.
    public func head(exportSizeBytes: UInt64) -> [UInt8] {
        let name = MessageText.name(snapshot.name.bytes)
        let header =
            "<h1><bdi>\(HTMLText.escaped(name))</bdi></h1>\n<p><bdi>\(HTMLText.escaped(title))</bdi></p>\n"
            + "<p>\(parts.text(SystemClock.localTime(snapshot.creationTime)))</p>\n"
        guard exportSizeBytes <= Self.exportLimitBytes else {
            let notice: Message = "The export is too large for a browser. Look at database.sqlite, or at the files in data/."
            return parts.page(title: "\(name) - \(title)", header: header, main: parts.paragraph(notice, ""))
        }
        let head = HTMLText.head(
            title: "\(name) - \(title)", language: parts.language.rawValue, style: PageStyle.css + RecordsPageScript.style,
            script: RecordsPageScript.script)
        return Array("\(head)<body \(words)>\n<header>\n\(header)</header>\n<main>\n\(main)</main>\n<plaintext>".utf8)
    }

    /// The texts of the script, with numbers in braces.
    private var words: String {
        let texts: [(String, Message)] = [
            ("count", "Records \("{0}") to \("{1}") of \("{2}")"), ("none", "No records."),
            ("damaged", "The records in this page cannot be read."),
        ]
        return texts.map { "data-\($0)=\"\(parts.text($1))\"" }.joined(separator: " ")
    }

    private var main: String {
        """
        <div class="tools">
        <label>\(parts.text("Collection")) <select id="collection"></select></label>
        <label>\(parts.text("Search")) <input id="search" type="search" autocomplete="off"></label>
        </div>
        <noscript>\(parts.paragraph("This page needs a browser that runs its script. The records are in the files in data/.", "bad"))</noscript>
        <p id="count" role="status"></p>
        <div class="wide" role="region" aria-label="\(parts.text("Records"))" tabindex="0"><table>
        <thead id="head"></thead>
        <tbody id="rows"></tbody>
        </table></div>
        <div class="tools">
        <button id="previous" type="button" disabled>\(parts.text("Previous"))</button>
        <button id="next" type="button" disabled>\(parts.text("Next"))</button>
        </div>

        """
    }
}
