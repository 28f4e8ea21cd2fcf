import BackupCore

/// The stat(2) data of a node, and how long the kernel may cache it.
public struct NodeAttributes: Sendable, Equatable {
    public enum Kind: Sendable, Equatable { case file, directory, symbolicLink }

    /// The number that the kernel uses.
    public var inode: InodeNumber
    /// The number that users and programs see. It stays the same where each state of a file is a separate node.
    public var shownInode: InodeNumber
    public var kind: Kind
    /// Permission bits only (0 to 0o777).
    public var permissions: UInt16
    /// Exact size in bytes; for a symbolic link the length of its target.
    public var size: UInt64
    public var modificationTime: Timestamp
    /// The node never changes during the mount: the kernel may cache its attributes and pages.
    public var isImmutable: Bool
    /// How long the kernel may cache the name, in seconds; 0 makes it ask each time.
    public var entryTimeoutSeconds: Double
    /// How long the kernel may cache these attributes, in seconds.
    public var attributeTimeoutSeconds: Double

    public init(
        inode: InodeNumber, shownInode: InodeNumber? = nil, kind: Kind, permissions: UInt16, size: UInt64,
        modificationTime: Timestamp,
        isImmutable: Bool = false, entryTimeoutSeconds: Double = 0, attributeTimeoutSeconds: Double = 0
    ) {
        self.inode = inode
        self.shownInode = shownInode ?? inode
        self.kind = kind
        self.permissions = permissions
        self.size = size
        self.modificationTime = modificationTime
        self.isImmutable = isImmutable
        self.entryTimeoutSeconds = entryTimeoutSeconds
        self.attributeTimeoutSeconds = attributeTimeoutSeconds
    }

    /// For a name in a listing whose attributes could not be read.
    static func unread(_ inode: InodeNumber, _ kind: Kind) -> NodeAttributes {
        NodeAttributes(
            inode: .unread, shownInode: inode, kind: kind, permissions: 0, size: 0, modificationTime: Timestamp(seconds: 0))
    }

    /// Whether they were read: otherwise only the kind and the shown number are known, and the kernel gets only the name.
    public var isRead: Bool { inode != .unread }
}
