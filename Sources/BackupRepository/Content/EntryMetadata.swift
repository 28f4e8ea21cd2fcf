import BackupCore

/// What is stored of a file or folder besides content, mode and time. Most entries have none, and then no such object: a folder may have a million entries.
public final class EntryMetadata: Hashable, Sendable {
    /// The file that a name refers to: names with the same identity in one snapshot are hard links to one file.
    public struct Link: Hashable, Sendable {
        /// 0 is the file system of the media folder.
        public let fileSystem: UInt64
        public let inode: UInt64

        public init(fileSystem: UInt64, inode: UInt64) {
            self.fileSystem = fileSystem
            self.inode = inode
        }
    }

    /// `nil` where it is the owner that the snapshot's record names.
    public let owner: FileOwner?
    /// Of a file with several names.
    public let link: Link?
    /// The number of bytes of the file that are in holes; 0 for none.
    public let holeBytes: UInt64
    /// Sorted by name, each once.
    public let extendedAttributes: [ExtendedAttribute]

    /// - Returns: `nil` if there is nothing to store.
    public static func of(
        owner: FileOwner? = nil, link: Link? = nil, holeBytes: UInt64 = 0, extendedAttributes: [ExtendedAttribute] = []
    ) -> EntryMetadata? {
        guard owner != nil || link != nil || holeBytes > 0 || !extendedAttributes.isEmpty else { return nil }
        return EntryMetadata(owner: owner, link: link, holeBytes: holeBytes, extendedAttributes: extendedAttributes)
    }

    private init(owner: FileOwner?, link: Link?, holeBytes: UInt64, extendedAttributes: [ExtendedAttribute]) {
        self.owner = owner
        self.link = link
        self.holeBytes = holeBytes
        self.extendedAttributes = extendedAttributes
    }

    public static func == (left: EntryMetadata, right: EntryMetadata) -> Bool {
        left === right
            || left.owner == right.owner && left.link == right.link && left.holeBytes == right.holeBytes
                && left.extendedAttributes == right.extendedAttributes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(owner)
        hasher.combine(link)
    }
}
