/// A file or folder of `live/`.
public struct LiveEntry: Sendable {
    public enum Kind: Sendable, Equatable { case file, directory, symbolicLink }

    public let name: FileName
    public let kind: Kind
    /// Permission bits of the file it stands for; 0o600 for what is made.
    public let permissions: UInt16
    /// Exact size in bytes.
    public let size: UInt64
    public let modificationTime: Timestamp
    /// The file's extents; for a symbolic link its target.
    public let content: @Sendable () throws(BackupError) -> ExtentTable
    /// The file's checksums; they may cost a read of the file.
    public let checksums: @Sendable () throws(BackupError) -> Checksums

    public init(
        name: FileName, kind: Kind, permissions: UInt16, size: UInt64, modificationTime: Timestamp,
        content: @escaping @Sendable () throws(BackupError) -> ExtentTable,
        checksums: @escaping @Sendable () throws(BackupError) -> Checksums
    ) {
        self.name = name
        self.kind = kind
        self.permissions = permissions
        self.size = size
        self.modificationTime = modificationTime
        self.content = content
        self.checksums = checksums
    }
}
