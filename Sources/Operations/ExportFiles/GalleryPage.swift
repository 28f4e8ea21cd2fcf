import BackupCore
import Formats
import SystemIO

/// Photos as one HTML file that needs nothing else: no script, no other file, no network.
struct GalleryPage {
    private static let bufferLimitBytes = 1 << 20

    let pages: PhotoPages
    private var buffer: [UInt8] = []
    private var writtenBytes: UInt64 = 0

    init(_ pages: PhotoPages) { self.pages = pages }

    /// - Returns: how many bytes were written.
    mutating func write(to file: borrowing OwnedDescriptor, _ progress: ExportProgress) throws(BackupError) -> UInt64 {
        putHead()
        var open: (year: Bool, month: Bool) = (false, false)
        // A copy, since the parts are put into this value.
        let pages = pages
        var parts = self
        try pages.forEachPart { (part) throws(BackupError) in
            switch part {
            case .year(let year):
                parts.close(&open.month, "</div></section>\n")
                parts.close(&open.year, "</section>\n")
                open.year = true
                parts.put("<section id=\"\(Self.identifier(year))\">\n<h2>\(HTMLText.escaped(pages.heading(year: year)))</h2>\n")
                // Photos without a date have no months.
                if year == nil { parts.beginMonth(&open.month) }
            case .month(let month, let year):
                parts.close(&open.month, "</div></section>\n")
                parts.beginMonth(&open.month, heading: pages.heading(month: month, year: year))
            case .photo(let photo):
                parts.put(photo)
                progress.update { $0[.writing].processedItems += 1 }
            }
            if parts.buffer.count >= Self.bufferLimitBytes { try parts.flush(to: file) }
        }
        self = parts
        close(&open.month, "</div></section>\n")
        close(&open.year, "</section>\n")
        put("</main>\n</body>\n</html>\n")
        try flush(to: file)
        return writtenBytes
    }

    private mutating func flush(to file: borrowing OwnedDescriptor) throws(BackupError) {
        try file.writeAll(buffer)
        writtenBytes += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func put(_ text: String) { buffer += Array(text.utf8) }

    private mutating func close(_ isOpen: inout Bool, _ end: String) {
        if isOpen { put(end) }
        isOpen = false
    }

    private mutating func beginMonth(_ isOpen: inout Bool, heading: String? = nil) {
        isOpen = true
        put(heading.map { "<section>\n<h3>\(HTMLText.escaped($0))</h3>\n<div class=\"photos\">\n" } ?? Self.unnamedMonth)
    }

    private static let unnamedMonth = "<section>\n<div class=\"photos\">\n"

    // MARK: The head

    private mutating func putHead() {
        let title = HTMLText.escaped(pages.title)
        put(HTMLText.head(title: pages.title, language: pages.language.rawValue, style: Self.style))
        put(
            """
            <body>
            <header>
            <h1>\(title)</h1>
            <p>\(HTMLText.escaped(pages.summary))</p>
            </header>

            """)
        let years = pages.years
        if years.count > 1 {
            put("<nav>\n<ul>\n")
            for (year, count) in years {
                let heading = HTMLText.escaped(pages.heading(year: year))
                put("<li><a href=\"#\(Self.identifier(year))\">\(heading)</a> (\(count))</li>\n")
            }
            put("</ul>\n</nav>\n")
        }
        put("<main>\n")
    }

    private static func identifier(_ year: Int?) -> String { year.map { "year-\(LocalDateTime.padded($0, 4))" } ?? "undated" }

    private static let style = """

        :root { color-scheme: light dark; --page: #fff; --text: #1a1a1a; --quiet: #595959; --box: #ececec; --link: #0b57d0 }
        @media (prefers-color-scheme: dark) {
          :root { --page: #161616; --text: #ececec; --quiet: #a8a8a8; --box: #2a2a2a; --link: #8ab4f8 }
        }
        body { margin: 0 auto; padding: 1.5rem; max-width: 84rem; font: 1rem/1.4 system-ui, sans-serif;
          background: var(--page); color: var(--text) }
        h1 { margin: 0 }
        h2 { margin: 2rem 0 0 }
        h3 { margin: 1.25rem 0 .75rem }
        header p { margin: .25rem 0 0; color: var(--quiet) }
        a { color: var(--link) }
        nav ul { margin: 1rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none }
        .photos { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); gap: 1.5rem 1.25rem }
        figure { margin: 0; min-width: 0; break-inside: avoid }
        img { display: block; max-width: 100%; height: auto }
        .none { display: flex; align-items: center; justify-content: center; min-height: 8rem; padding: .5rem;
          background: var(--box); color: var(--quiet); overflow-wrap: anywhere; text-align: center }
        figcaption { margin-top: .4rem; font-size: .8125rem; overflow-wrap: anywhere }
        figcaption > * { display: block; margin: 0; color: var(--quiet) }
        figcaption .name { font-weight: 600; color: var(--text) }
        figcaption .words { color: var(--text) }
        @media screen { .photos { content-visibility: auto; contain-intrinsic-size: auto 40rem } }
        @media print {
          @page { margin: 15mm }
          :root { color-scheme: light; --page: #fff; --text: #000; --quiet: #444; --box: #eee }
          body { max-width: none; padding: 0; font-size: 9pt }
          nav { display: none }
          h2, h3 { break-after: avoid }
          .photos { grid-template-columns: repeat(4, 1fr) }
        }

        """

    // MARK: A photo

    private mutating func put(_ photo: PagePhoto) {
        put("<figure>\n")
        switch photo.picture {
        case .jpeg(let bytes, let header):
            put("<img src=\"data:image/jpeg;base64,")
            put(bytes.withUnsafeBytes { Base64.encode($0) })
            let alternative = HTMLText.escaped(photo.alternativeText)
            put("\" width=\"\(header.width)\" height=\"\(header.height)\" alt=\"\(alternative)\" loading=\"lazy\">\n")
        case .none, .damaged: put("<div class=\"none\"><bdi>\(HTMLText.escaped(photo.typeText))</bdi></div>\n")
        }
        put("<figcaption>\n<bdi class=\"name\">\(HTMLText.escaped(photo.name))</bdi>\n")
        putWords(photo.title)
        putWords(photo.captionText)
        if let text = photo.timeText, let time = photo.timeForPrograms {
            put("<time datetime=\"\(time)\">\(HTMLText.escaped(text))</time>\n")
        }
        for line in [photo.sizeText, photo.camera, photo.ratingText, photo.starText] {
            if let line { put("<bdi>\(HTMLText.escaped(line))</bdi>\n") }
        }
        put("</figcaption>\n</figure>\n")
    }

    private mutating func putWords(_ text: String?) {
        if let text { put("<bdi class=\"words\">\(HTMLText.escaped(text))</bdi>\n") }
    }
}
