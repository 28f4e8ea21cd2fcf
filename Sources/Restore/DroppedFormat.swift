import AppData
import BackupCore
import SystemIO

/// What a dropped file is, by its first bytes; its name says nothing.
public enum DroppedFormat: String, Sendable {
    case json
    case zip
    case sqlite

    /// - Throws: `invalidContent` for anything else.
    static func detect(_ path: String) throws(BackupError) -> DroppedFormat {
        let start = try SharedFile(path: path).bytes(at: 0, upTo: 512)[...]
        if start.starts(with: SQLiteHeader.magic) { return .sqlite }
        if start.starts(with: [0x50, 0x4B, 0x03, 0x04]) || start.starts(with: [0x50, 0x4B, 0x05, 0x06]) { return .zip }
        let text = start.starts(with: [0xEF, 0xBB, 0xBF]) ? start.dropFirst(3) : start
        let first = text.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
        throw BackupError(
            .invalidContent, "Invalid file format. Please select a valid backup file.",
            findings: [start.isEmpty ? "the file is empty" : "the file is neither JSON nor a ZIP archive nor a SQLite database"])
    }
}
