import BackupCore

/// Formats text in columns for display.
enum Table {
    /// Columns are as wide as their widest cell, two spaces apart; lines have no trailing spaces.
    /// - Parameter headings: for the first line, in the user's language.
    static func text(_ headings: [Message], _ rows: [[String]]) -> String {
        let rows = [headings.map(Terminal.language.text)] + rows
        let columnCount = rows.map(\.count).max() ?? 0
        let widths = (0..<columnCount).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let line = row.enumerated().map { column, cell in
                cell + String(repeating: " ", count: widths[column] - cell.count)
            }.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }
}
