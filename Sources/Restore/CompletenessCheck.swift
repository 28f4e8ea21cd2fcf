import BackupCore
import Export
import SystemIO

/// Whether a file that somebody is still writing is whole by now: its JSON is closed, its ZIP has its end, its database all its pages.
/// What is whole may still be invalid.
public enum CompletenessCheck {
    public static func isComplete(_ path: String) -> Bool {
        do {
            let file = try SharedFile(path: path)
            switch try DroppedFormat.detect(path) {
            case .json:
                let tokenizer = JSONTokenizer(file)
                while try tokenizer.next() != .end {}
                return true
            case .zip:
                _ = try ZIPReader(path: path, limits: ZIPLimits(totalSizeBytes: .max))
                return true
            case .sqlite:
                // Page size at offset 16, number of pages at 28 (SQLite's file format, section 1.3).
                let header = try file.readExactly(at: 16, count: 16)
                let rawPageSize = UInt64(header[0]) << 8 | UInt64(header[1])
                let pageSize = rawPageSize == 1 ? 65_536 : rawPageSize
                let pageCount = header[12...15].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                return pageCount > 0 && pageCount * pageSize == file.size
            }
        } catch {
            return false
        }
    }
}
