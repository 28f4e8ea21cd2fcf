/// What a repository holds, by its catalog.
public struct RepositoryTotals: Hashable, Sendable {
    public let packCount: UInt64
    /// Bytes of all packs.
    public let packByteCount: UInt64
    /// A chunk that lies in two packs counts twice.
    public let chunkCount: UInt64
}
