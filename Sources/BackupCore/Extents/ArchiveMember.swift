/// One entry of an archive view: the data of a file that a ZIP or tar layout needs.
public struct ArchiveMember: Sendable {
    /// Path in the archive, components joined by `/`, no leading slash; folders end with `/`.
    public let path: [UInt8]
    /// Permission bits and file type, as in `st_mode`; without set-user-ID and set-group-ID, since an archive records no owners: if root unpacked it, the
    /// file would run as root.
    public let mode: UInt32
    public let modificationTime: Timestamp
    public let size: UInt64
    /// Of the content; only a ZIP needs it.
    public let crc32: UInt32
    /// A symbolic link's content is its target, as literal pieces.
    public let content: [ContentPiece]

    public init(
        path: [UInt8], mode: UInt32, modificationTime: Timestamp, size: UInt64, crc32: UInt32, content: [ContentPiece]
    ) {
        self.path = path
        self.mode = mode & ~0o6000
        self.modificationTime = modificationTime
        self.size = size
        self.crc32 = crc32
        self.content = content
    }

    public var isDirectory: Bool { path.last == UInt8(ascii: "/") }

    public var isSymbolicLink: Bool { mode & 0o170000 == 0o120000 && !isDirectory }
}
