import BackupCore

/// A file whose bytes are in the repository, once the backup that stored it is committed.
public struct StoredFile: Hashable, Sendable {
    public let content: FileContent
    public let checksums: Checksums

    public init(content: FileContent, checksums: Checksums) {
        self.content = content
        self.checksums = checksums
    }

    /// Size in bytes.
    public var size: UInt64 { content.size }
}
