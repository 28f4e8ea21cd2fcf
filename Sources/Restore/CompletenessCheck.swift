import AppData
import BackupCore
import Export
import SystemIO

/// Whether a file that is still being written is complete: its JSON is closed, its archive has its end, its database all its pages.
/// A complete file may still be invalid.
public enum CompletenessCheck {
    public static func isComplete(_ path: String) -> Bool {
        do {
            let file = try SharedFile(path: path)
            switch try DroppedFormat.detect(file) {
            case .json:
                let tokenizer = JSONTokenizer(file)
                while try tokenizer.next() != .end {}
                return true
            case .zip:
                var limits = ArchiveLimits(totalSizeBytes: .max)
                limits.acceptsLongNames = true
                _ = try ArchiveReader(zip: file, size: file.size, limits: limits)
                return true
            case .tar:
                var limits = ArchiveLimits(totalSizeBytes: .max)
                limits.acceptsSymbolicLinks = true
                limits.acceptsLongNames = true
                _ = try ArchiveReader(tar: file, size: file.size, limits: limits)
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
