import BackupCore
import Formats
import PhotoData
import SystemIO

/// One HTML file that needs nothing else, and that prints well.
final class HTMLCanvas: ReportCanvas {
    let rowLimit: UInt64 = 100_000

    private enum Block { case none, table, pictures }

    private let file: DraftFile
    private let language: Language
    private var open = Block.none
    private var columns: [PageColumn] = []

    init(to file: DraftFile, language: Language) {
        self.file = file
        self.language = language
    }

    private func put(_ text: String) throws(BackupError) { try file.add(text) }

    private func end(_ block: Block = .none) throws(BackupError) {
        guard open != block else { return }
        switch open {
        case .table: try put("</tbody>\n</table>\n")
        case .pictures: try put("</div>\n")
        case .none: break
        }
        open = .none
    }

    func begin(title: String, logo: PagePicture?) throws(BackupError) {
        try put(HTMLText.head(title: title, language: language.rawValue, style: Self.style))
        try put("<body>\n<header>\n<h1>\(HTMLText.escaped(title))</h1>\n")
        if let logo, let header = logo.header { try putImage(logo.jpeg, header, alternative: "") }
        try put("</header>\n<main>\n")
    }

    func heading(_ level: UInt8, _ text: String) throws(BackupError) {
        try end()
        let tag = level == 1 ? "h2" : "h3"
        try put("<\(tag)>\(HTMLText.escaped(text))</\(tag)>\n")
    }

    func paragraph(_ text: String) throws(BackupError) {
        try end()
        // Notes of a person may have several lines.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { HTMLText.escaped(String($0)) }
        try put("<p>\(lines.joined(separator: "<br>"))</p>\n")
    }

    func notice(_ tone: PageTone, _ text: String) throws(BackupError) {
        try end()
        try put("<p class=\"notice \(Self.name(tone))\"><bdi>\(HTMLText.escaped(text))</bdi></p>\n")
    }

    func table(_ columns: [PageColumn]) throws(BackupError) {
        try end()
        self.columns = columns
        open = .table
        guard columns.contains(where: { !$0.heading.isEmpty }) else { return try put("<table class=\"facts\">\n<tbody>\n") }
        try put("<table>\n<thead>\n<tr>")
        for column in columns {
            try put("<th scope=\"col\"\(column.isNumber ? " class=\"number\"" : "")>\(HTMLText.escaped(column.heading))</th>")
        }
        try put("</tr>\n</thead>\n<tbody>\n")
    }

    func row(_ tone: PageTone, _ cells: [String]) throws(BackupError) {
        var text = tone == .plain || tone == .fact ? "<tr>" : "<tr class=\"\(Self.name(tone))\">"
        for (index, cell) in cells.enumerated() {
            let content = "<bdi>\(HTMLText.escaped(cell))</bdi>"
            if tone == .fact, index == 0 {
                text += "<th scope=\"row\">\(content)</th>"
            } else {
                text += "<td\(index < columns.count && columns[index].isNumber ? " class=\"number\"" : "")>\(content)</td>"
            }
        }
        try put(text + "</tr>\n")
    }

    func picture(_ picture: PagePicture) throws(BackupError) {
        try end(.pictures)
        if open == .none {
            open = .pictures
            try put("<div class=\"pictures\">\n")
        }
        try put("<figure>\n")
        if let header = picture.header {
            try putImage(picture.jpeg, header, alternative: picture.lines.joined(separator: ", "))
        } else {
            try put("<div class=\"none\"><bdi>\(HTMLText.escaped(picture.placeholder))</bdi></div>\n")
        }
        try put("<figcaption>\(picture.lines.map { "<bdi>\(HTMLText.escaped($0))</bdi>" }.joined())</figcaption>\n</figure>\n")
    }

    private func putImage(_ jpeg: [UInt8], _ header: JPEGHeader, alternative: String) throws(BackupError) {
        try put("<img src=\"data:image/jpeg;base64,")
        try put(jpeg.withUnsafeBytes { Base64.encode($0) })
        try put("\" width=\"\(header.width)\" height=\"\(header.height)\" alt=\"\(HTMLText.escaped(alternative))\">\n")
    }

    /// The end of the file.
    func finish() throws(BackupError) {
        try end()
        try put("</main>\n</body>\n</html>\n")
    }

    private static func name(_ tone: PageTone) -> String {
        switch tone {
        case .plain, .fact: "plain"
        case .good: "good"
        case .bad: "bad"
        case .quiet: "quiet"
        }
    }

    // Not all programs that print pages know variables in shorthand properties.
    private static let style = """

        :root { color-scheme: light dark; --page: #fff; --text: #1a1a1a; --quiet: #5f5f63; --line: #d9d9de; --box: #f2f2f5;
          --accent: #007aff; --good: #0d6b2c; --good-box: #e6f6e9; --bad: #a8120f; --bad-box: #fdeae8 }
        @media (prefers-color-scheme: dark) {
          :root { --page: #161616; --text: #ececec; --quiet: #a8a8ad; --line: #3a3a3d; --box: #242427;
            --good: #7fd897; --good-box: #14301c; --bad: #ff9c94; --bad-box: #3b1614 }
        }
        body { margin: 0 auto; padding: 1.5rem; max-width: 68rem; font: 1rem/1.45 system-ui, sans-serif;
          background-color: var(--page); color: var(--text) }
        header { display: flex; justify-content: space-between; align-items: flex-start; gap: 2rem; margin-bottom: 1rem }
        header img { max-width: 12rem; max-height: 4rem; width: auto; height: auto; background: #fff }
        h1 { margin: 0; font-size: 1.75rem; overflow-wrap: anywhere }
        h2 { margin: 2rem 0 .75rem; padding-bottom: .25rem; font-size: 1.2rem; border-bottom: 2px solid;
          border-bottom-color: var(--accent) }
        h3 { margin: 1.25rem 0 .5rem; font-size: 1rem }
        p { margin: .5rem 0; overflow-wrap: anywhere }
        .notice { padding: .75rem 1rem; font-weight: 600; border-left: .3rem solid;
          border-left-color: var(--quiet); background-color: var(--box) }
        .notice.good { color: var(--good); border-left-color: var(--good); background-color: var(--good-box) }
        .notice.bad { color: var(--bad); border-left-color: var(--bad); background-color: var(--bad-box) }
        table { width: 100%; margin: .5rem 0 1rem; border-collapse: collapse; font-size: .875rem }
        th, td { padding: .3rem .75rem .3rem 0; text-align: start; vertical-align: top; overflow-wrap: anywhere;
          border-bottom: 1px solid; border-bottom-color: var(--line) }
        th { font-weight: 600 }
        thead th { color: var(--quiet); border-bottom: 2px solid #8e8e93 }
        .facts th { width: 13rem; font-weight: 400; color: var(--quiet) }
        .number { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums }
        tr.bad td { color: var(--bad) }
        tr.good td:first-child { color: var(--good) }
        tr.quiet td { color: var(--quiet) }
        .pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: 1.25rem 1rem }
        figure { margin: 0; min-width: 0; break-inside: avoid }
        figure img { display: block; max-width: 100%; height: auto }
        figcaption { margin-top: .3rem; font-size: .8125rem; color: var(--quiet); overflow-wrap: anywhere }
        figcaption bdi { display: block }
        .none { display: flex; align-items: center; justify-content: center; min-height: 7rem; background-color: var(--box);
          color: var(--quiet) }
        @media print {
          @page { margin: 15mm; @bottom-center { content: counter(page) " / " counter(pages); font-size: 8pt; color: #666 } }
          :root { color-scheme: light; --page: #fff; --text: #000; --quiet: #444; --line: #ccc; --box: #f2f2f5;
            --good: #0d6b2c; --good-box: #e6f6e9; --bad: #a8120f; --bad-box: #fdeae8 }
          body { max-width: none; padding: 0; font-size: 9pt; print-color-adjust: exact }
          h1 { font-size: 18pt }
          h2 { font-size: 12pt; break-after: avoid }
          h3 { break-after: avoid }
          table { font-size: 8pt }
          thead { display: table-header-group }
          tr, .notice { break-inside: avoid }
          .pictures { grid-template-columns: repeat(4, 1fr) }
        }

        """
}
