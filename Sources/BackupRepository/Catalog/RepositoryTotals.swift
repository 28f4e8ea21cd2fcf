/// What a repository holds, according to its catalog.
public struct RepositoryTotals: Hashable, Sendable {
    public let packCount: UInt64
    /// Bytes of all packs.
    public let packByteCount: UInt64
    /// A chunk that is in two packs counts twice.
    public let chunkCount: UInt64
}
