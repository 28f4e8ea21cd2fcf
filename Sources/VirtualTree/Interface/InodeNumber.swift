/// A file's number in the tree: what the kernel calls it by, and what `ls -i` shows. The same file has the same number after
/// every mount.
public struct InodeNumber: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// The mountpoint itself (`FUSE_ROOT_ID`).
    public static let root = InodeNumber(1)
}
