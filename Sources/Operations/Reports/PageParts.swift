import BackupCore
import Formats
import SystemIO

/// Pieces that the pages share.
struct PageParts {
    let language: Language

    func text(_ message: Message) -> String { HTMLText.escaped(language.text(message)) }

    /// A whole page.
    /// - Parameters:
    ///   - title: not escaped.
    ///   - header: HTML of the heading and what stands below it.
    ///   - main: HTML of the rest.
    ///   - showsPictures: whether it shows pictures of files beside it.
    func page(title: String, header: String, main: String, showsPictures: Bool = false) -> [UInt8] {
        let head = HTMLText.head(
            title: title, language: language.rawValue, style: PageStyle.css, showsPictures: showsPictures)
        return Array("\(head)<body>\n<header>\n\(header)</header>\n<main>\n\(main)</main>\n</body>\n</html>\n".utf8)
    }

    func section(_ heading: Message, _ content: String) -> String {
        content.isEmpty ? "" : "<section>\n<h2>\(text(heading))</h2>\n\(content)</section>\n"
    }

    /// A table that scrolls by itself where it is wider than a telephone, so that the page does not.
    /// - Parameters:
    ///   - label: for programs that read pages out.
    ///   - rows: HTML of what is in the table.
    func table(_ label: Message, _ rows: String) -> String {
        """
        <div class="wide" role="region" aria-label="\(text(label))" tabindex="0"><table>
        \(rows)</table></div>

        """
    }

    func paragraph(_ message: Message, _ tone: String) -> String {
        "<p class=\"notice \(tone)\"><bdi>\(text(message))</bdi></p>\n"
    }

    func list(_ lines: [Message]) -> String {
        guard !lines.isEmpty else { return "" }
        return "<ul>\n\(lines.map { "<li><bdi>\(text($0))</bdi></li>\n" }.joined())</ul>\n"
    }
}
