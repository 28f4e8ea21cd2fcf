/// A file's number in the tree: what the kernel calls it by, and what `ls -i` shows. The same file has the same number after
/// every mount.
public struct InodeNumber: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// The mountpoint itself (`FUSE_ROOT_ID`).
    public static let root = InodeNumber(1)
    /// In a listing with attributes, the kernel takes a name with this number for one that it has to look up itself.
    static let unread = InodeNumber(0)
}
