/// One consistent state of the app's data, as the files of `live/`.
public protocol LiveView: AnyObject, Sendable {
    /// The entries of the folder at `path` (empty for `live/` itself), sorted by name; `nil` when there is no such folder.
    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]?
    /// The entry at `path`; `nil` when there is none, and for `live/` itself.
    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry?
}

/// A file, folder or link of a snapshot or of `live/`.
public protocol ContentEntry: Sendable {
    var name: FileName { get }
    var kind: FileKind { get }
    /// Permission bits and file type, as in `st_mode`.
    var mode: UInt32 { get }
    /// In UTC.
    var modificationTime: Timestamp { get }
    /// Exact size in bytes, as in stat(2): of a file, or of a link's target; 0 for folders.
    var size: UInt64 { get }
    /// The target of a symbolic link.
    var linkTarget: [UInt8]? { get }
}

/// A file, folder or link of `live/`.
public struct LiveEntry: ContentEntry {
    public let name: FileName
    public let kind: FileKind
    /// The permission bits are those of the underlying file; 0o600 for generated content.
    public let mode: UInt32
    public let size: UInt64
    /// Of the underlying file; for generated content, that of the state of the data.
    public let modificationTime: Timestamp
    /// Distinguishes the file's states: at one path, the same version means the same bytes. `nil` for content generated on each
    /// read.
    public let version: UInt64?
    /// The file cannot have changed since without a new version: its content may be cached.
    public let isSettled: Bool
    public let content: any LiveContent

    /// The mode gets the file type of `kind`.
    public init(
        name: FileName, kind: FileKind, permissions: UInt32, size: UInt64, modificationTime: Timestamp, version: UInt64? = nil,
        isSettled: Bool = false, content: any LiveContent
    ) {
        self.name = name
        self.kind = kind
        mode = kind.modeBits | permissions & 0o777
        self.size = size
        self.modificationTime = modificationTime
        self.version = version
        self.isSettled = isSettled
        self.content = content
    }

    public var linkTarget: [UInt8]? {
        guard kind == .symbolicLink, case .literal(let bytes)? = content.pieces.first else { return nil }
        return bytes
    }
}

/// The bytes of a file of `live/`, or the target of a link.
public protocol LiveContent: AnyObject, Sendable {
    /// The same bytes for an archive. They hold no file open until they are read.
    var pieces: [ContentPiece] { get }
    /// The file's extents. They keep the state that they were opened with.
    func table() throws(BackupError) -> ExtentTable
    /// May have to read the file.
    func checksums() throws(BackupError) -> Checksums
}

extension LiveContent {
    public func table() throws(BackupError) -> ExtentTable { ExtentTable(plainContent: pieces) }
}
