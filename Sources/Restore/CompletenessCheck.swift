import AppData
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
                guard let header = try SQLiteHeader(of: file), header.pageCount > 0 else { return false }
                return UInt64(header.pageCount) * UInt64(header.pageSizeBytes) == file.size
            }
        } catch {
            return false
        }
    }
}
