/// A file's number in the tree, which the kernel uses and `ls -i` shows. A file has the same number in every mount.
public struct InodeNumber: Hashable, Sendable {
    public let rawValue: UInt64

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// The mountpoint itself (`FUSE_ROOT_ID`).
    public static let root = InodeNumber(1)
    /// In a listing with attributes, the kernel looks up a name with this number itself.
    static let unread = InodeNumber(0)
}
