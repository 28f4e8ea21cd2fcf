/// One consistent state of the app's data, as the files of `live/`.
public protocol LiveView: AnyObject, Sendable {
    /// The entries of the folder at `path` (empty for `live/` itself), sorted by name; `nil` when there is no such folder.
    func children(of path: [FileName]) throws(BackupError) -> [LiveEntry]?
    /// The entry at `path`; `nil` when there is none, and for `live/` itself.
    func entry(at path: [FileName]) throws(BackupError) -> LiveEntry?
}

/// A file or folder of `live/`.
public struct LiveEntry: Sendable {
    /// What the entry is. Sockets, pipes and devices are not shown.
    public enum Kind: Sendable, Equatable { case file, directory, symbolicLink }

    public let name: FileName
    public let kind: Kind
    /// Permission bits of the underlying file; 0o600 for generated content.
    public let permissions: UInt16
    /// Exact size in bytes.
    public let size: UInt64
    /// Of the underlying file; for generated content, that of the state of the data.
    public let modificationTime: Timestamp
    /// Distinguishes the file's states: at one path, the same version means the same bytes. `nil` for content generated on each
    /// read.
    public let version: UInt64?
    /// The file cannot have changed since without a new version: its content may be cached.
    public let isSettled: Bool
    /// The file's extents; for a symbolic link its target.
    public let content: @Sendable () throws(BackupError) -> ExtentTable
    /// The file's checksums; may have to read the file.
    public let checksums: @Sendable () throws(BackupError) -> Checksums

    public init(
        name: FileName, kind: Kind, permissions: UInt16, size: UInt64, modificationTime: Timestamp, version: UInt64? = nil,
        isSettled: Bool = false,
        content: @escaping @Sendable () throws(BackupError) -> ExtentTable,
        checksums: @escaping @Sendable () throws(BackupError) -> Checksums
    ) {
        self.name = name
        self.kind = kind
        self.permissions = permissions
        self.size = size
        self.modificationTime = modificationTime
        self.version = version
        self.isSettled = isSettled
        self.content = content
        self.checksums = checksums
    }
}
