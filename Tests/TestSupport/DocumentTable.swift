import Testing

/// Tables in the documents that tests generate: their contents must match what the test has observed.
public enum DocumentTable {
    private static let sourceRoot = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
    private static let longestCell = 160

    /// A table in Markdown.
    /// - Parameter isMarkdown: whether the cells are Markdown; otherwise they are shown literally.
    public static func text(_ head: [String], _ rows: [[String]], isMarkdown: Bool = false) -> String {
        let line = { (cells: [String]) in "| \(cells.map { isMarkdown ? $0 : cell($0) }.joined(separator: " | ")) |\n" }
        return line(head) + line(head.map { _ in "---" }) + rows.map(line).joined()
    }

    private static func cell(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "|", "\\", "<", ">", "*", "_", "`": output += "\\\(scalar)"
            case _ where scalar.value < 32: output += " "
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output.count > longestCell ? output.prefix(longestCell) + "…" : output
    }

    /// Compares the text between `<!-- NAME -->` and `<!-- end NAME -->` with `text`; with BACKUPFS_UPDATE_DOCUMENTS=1 writes it
    /// there.
    public static func check(_ path: String, _ name: String, _ text: String, at place: SourceLocation = #_sourceLocation) throws {
        let path = "\(sourceRoot)/\(path)"
        let document = String(decoding: try readFile(path), as: UTF8.self)
        let begin = "<!-- \(name) -->\n"
        let end = "<!-- end \(name) -->\n"
        let parts = document.split(separator: begin, omittingEmptySubsequences: false)
        let rest = parts.count == 2 ? parts[1].split(separator: end, omittingEmptySubsequences: false) : []
        guard rest.count == 2 else {
            Issue.record("\(path) has no place for \(name)", sourceLocation: place)
            return
        }
        if rest[0] == text { return }
        if Machine.environment("BACKUPFS_UPDATE_DOCUMENTS") == "1" {
            let updated = "\(parts[0])\(begin)\(text)\(end)\(rest[1])"
            try writeFile(path, Array(updated.utf8))
            return
        }
        let old = Set(rest[0].split(separator: "\n"))
        let news = text.split(separator: "\n").filter { !old.contains($0) }.prefix(5).joined(separator: "\n")
        Issue.record(
            "the table \(name) in \(path) is not what was seen; new lines:\n\(news)\nBACKUPFS_UPDATE_DOCUMENTS=1 make test writes it.",
            sourceLocation: place)
    }
}
