import BackupCore

/// A folder whose directory object is in the repository, once the backup that stored it is committed.
public struct StoredDirectory: Hashable, Sendable {
    /// The directory object's bytes.
    public let content: FileContent
    public let totals: DirectoryTotals

    public init(content: FileContent, totals: DirectoryTotals) {
        self.content = content
        self.totals = totals
    }
}
