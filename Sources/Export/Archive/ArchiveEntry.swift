import BackupCore

/// One entry of an archive that `ArchiveReader` has accepted.
public struct ArchiveEntry: Sendable {
    /// Path in the archive, components joined by `/`, as bytes; folders end with `/`. Every component is safe to create.
    public let path: [UInt8]
    /// Permission bits, if the archive comes from a system that has them.
    public let permissions: UInt32?
    /// Exact to the second if a ZIP archive has an extended timestamp, otherwise the MS-DOS time taken as UTC. Exact in a tar archive that has such times.
    public let modificationTime: Timestamp
    /// Unpacked size in bytes.
    public let size: UInt64
    /// Size in the archive in bytes.
    public let compressedSize: UInt64
    /// CRC-32 of the unpacked bytes, as stored in the archive; `nil` in a tar archive.
    public let crc32: UInt32?
    /// The content is then the link's target.
    public let isSymbolicLink: Bool
    let isDeflated: Bool
    /// Where the entry's data starts in the archive.
    let dataOffset: UInt64

    public var isDirectory: Bool { path.last == UInt8(ascii: "/") }

    /// For display; bytes that are not UTF-8 become U+FFFD.
    public var name: String { String(decoding: path, as: UTF8.self) }
}
