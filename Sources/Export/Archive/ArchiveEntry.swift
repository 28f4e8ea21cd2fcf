import BackupCore

/// One entry of an archive that `ArchiveReader` has accepted.
public struct ArchiveEntry: Sendable {
    /// Path in the archive, components joined by `/`, as bytes; folders end with `/`. Every component is safe to create.
    public let path: [UInt8]
    /// Permission bits, when the archive was made by a system that has them.
    public let permissions: UInt32?
    /// To the second where a ZIP archive has an extended timestamp, otherwise the old clock's time taken as UTC. Exact in a tar archive that
    /// has such times.
    public let modificationTime: Timestamp
    /// Unpacked size in bytes.
    public let size: UInt64
    /// Size in the archive in bytes.
    public let compressedSize: UInt64
    /// CRC-32 of the unpacked bytes, as the archive has it; `nil` in a tar archive.
    public let crc32: UInt32?
    /// The content is then where the link points to.
    public let isSymbolicLink: Bool
    let isDeflated: Bool
    /// Where the entry's data starts in the archive.
    let dataOffset: UInt64

    public var isDirectory: Bool { path.last == UInt8(ascii: "/") }

    /// For showing to people; bytes that are not UTF-8 come out as U+FFFD.
    public var name: String { String(decoding: path, as: UTF8.self) }
}
