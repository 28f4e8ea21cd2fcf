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

/// Formats sizes for display, in powers of 1,024 as in `ls -h`.
enum ByteCount {
    static func text(_ count: UInt64) -> String {
        if count < 1_024 { return "\(count) B" }
        // Not `count * 10`: a damaged record can claim any size.
        var tenths = count / 1_024 * 10 + count % 1_024 * 10 / 1_024
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        while tenths >= 10_240, unit < units.count - 1 {
            tenths /= 1_024
            unit += 1
        }
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}

/// Formats durations for display as stopwatches do: `0:42`, `12:05`, `1:02:03`.
enum DurationText {
    static func of(_ seconds: Double) -> String {
        let whole = UInt64(min(max(seconds.rounded(), 0), 1e9))
        let hours = whole / 3600
        return hours > 0
            ? "\(hours):\(twoDigits(whole / 60 % 60)):\(twoDigits(whole % 60))" : "\(whole / 60):\(twoDigits(whole % 60))"
    }

    private static func twoDigits(_ number: UInt64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
