import BackupCore
import Formats
import SystemIO

/// A folder as a page with links.
struct FolderPage {
    let path: [FileName]
    let entries: [(name: FileName, status: FileStatus)]
    let language: Language

    private func text(_ message: Message) -> String { HTMLText.escaped(language.text(message)) }

    var html: [UInt8] {
        let title = path.last.map { MessageText.name($0.bytes) } ?? "backupfs"
        let head = HTMLText.head(title: "\(title) - backupfs", language: language.rawValue, style: PageStyle.css)
        let columns =
            "<th scope=\"col\">\(text("Name"))</th><th scope=\"col\" class=\"number\">\(text("Size"))</th>"
            + "<th scope=\"col\">\(text("Changed"))</th>"
        return Array(
            """
            \(head)<body>
            <header>
            <h1><bdi>\(HTMLText.escaped(title))</bdi></h1>
            <nav>\(way)</nav>
            </header>
            <main>
            <div class="wide" role="region" aria-label="\(text("Folder"))" tabindex="0"><table>
            <thead>
            <tr>\(columns)</tr>
            </thead>
            <tbody>
            \(entries.map { row($0.name, $0.status) }.joined())</tbody>
            </table></div>
            </main>
            </body>
            </html>

            """.utf8)
    }

    /// The folders above, each with a link.
    private var way: String {
        var links = ["<a href=\"/\">backupfs</a>"]
        for count in 1..<max(1, path.count) {
            let address = RequestPath.address(Array(path.prefix(count)), isFolder: true)
            links.append("<a href=\"\(address)\"><bdi>\(HTMLText.escaped(MessageText.name(path[count - 1].bytes)))</bdi></a>")
        }
        return path.isEmpty ? "" : links.joined(separator: " / ")
    }

    private func row(_ name: FileName, _ status: FileStatus) -> String {
        let isFolder = status.kind == .directory
        let label = HTMLText.escaped(MessageText.name(name.bytes)) + (isFolder ? "/" : "")
        return "<tr><td><a href=\"\(PageLink.address([name.bytes], isFolder: isFolder))\"><bdi>\(label)</bdi></a></td>"
            + "<td class=\"number\">\(isFolder ? "" : HTMLText.escaped(ByteCount.text(status.size)))</td>"
            + "<td>\(text(SystemClock.localTime(status.modificationTime.wholeSeconds)))</td></tr>\n"
    }
}
