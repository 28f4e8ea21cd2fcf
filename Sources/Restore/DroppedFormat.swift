import AppData
import BackupCore
import Export
import SystemIO

/// The format of a dropped file, by its first bytes; its name means nothing.
public enum DroppedFormat: String, Sendable {
    case json
    case zip
    case tar
    case sqlite

    /// Compression formats that people use for archives, and the programs that unpack them.
    private static let compressions: [(magic: [UInt8], name: String, program: String)] = [
        ([0x1F, 0x8B], "gzip", "gunzip"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xz", "unxz"), (Array("BZh".utf8), "bzip2", "bunzip2"),
        ([0x28, 0xB5, 0x2F, 0xFD], "zstd", "unzstd"), ([0x37, 0x7A, 0xBC, 0xAF], "7-Zip", "7z x"),
    ]

    /// - Throws: `invalidContent` for anything else.
    static func detect(_ source: any ByteSource) throws(BackupError) -> DroppedFormat {
        let start = try source.bytes(at: 0, upTo: 512)[...]
        if start.starts(with: SQLiteHeader.magic) { return .sqlite }
        if start.starts(with: [0x50, 0x4B, 0x03, 0x04]) || start.starts(with: [0x50, 0x4B, 0x05, 0x06]) { return .zip }
        // Before JSON: a name in an archive may begin with any byte.
        if ArchiveReader.isTAR(start) { return .tar }
        let text = start.starts(with: [0xEF, 0xBB, 0xBF]) ? start.dropFirst(3) : start
        let first = text.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
        let compression = compressions.first { start.starts(with: $0.magic) }
        throw BackupError(
            .invalidContent, "Invalid file format. Please select a valid backup file.",
            remedy: compression.map { "Unpack it first: \($0.program) FILE" },
            findings: [
                start.isEmpty
                    ? "the file is empty"
                    : compression.map { "the file is compressed with \($0.name)" }
                        ?? "the file is neither JSON nor a ZIP or tar archive nor a SQLite database"
            ])
    }
}
