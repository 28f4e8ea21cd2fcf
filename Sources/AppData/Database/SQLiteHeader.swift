import BackupCore
import SystemIO

/// The header of a database file (SQLite's file format, section 1.3).
public struct SQLiteHeader: Sendable {
    /// Every database file begins with these bytes, unless it is empty.
    public static let magic: [UInt8] = Array("SQLite format 3\0".utf8)
    public static let byteCount = 100

    /// 512 to 65,536.
    public let pageSizeBytes: Int
    /// Number of pages in the file, as of its last change.
    public let pageCount: UInt32

    /// - Parameter start: the first bytes of the file, as many as available.
    /// - Returns: `nil` for a file that is not a database, or is shorter than the header.
    public init?(_ start: UnsafeRawBufferPointer) {
        guard start.count >= Self.byteCount, start.starts(with: Self.magic) else { return nil }
        let rawPageSize = Int(UInt16(bigEndian: start.loadUnaligned(fromByteOffset: 16, as: UInt16.self)))
        // 65,536 does not fit into the field.
        pageSizeBytes = rawPageSize == 1 ? 65_536 : max(512, rawPageSize)
        pageCount = UInt32(bigEndian: start.loadUnaligned(fromByteOffset: 28, as: UInt32.self))
    }

    /// Reads the header of a file.
    /// - Returns: `nil` for a file that is not a database, or is shorter than the header.
    public init?(of file: some ByteSource) throws(BackupError) {
        let start = try file.bytes(at: 0, upTo: Self.byteCount)
        guard let header = start.withUnsafeBytes({ Self($0) }) else { return nil }
        self = header
    }
}
