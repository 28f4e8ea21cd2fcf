import BackupCore

/// What is stored of a file or folder besides content, mode and time. Most entries have none, and then no such object: a folder
/// may have a million entries.
public final class EntryMetadata: Hashable, Sendable {
    /// The file that a name refers to: names with the same identity in one snapshot are hard links to one file.
    public struct Link: Hashable, Sendable {
        /// 0 is the file system of the media folder.
        public let fileSystem: UInt64
        /// The file's number in that file system when it was backed up.
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

/// The encoding in an entry of a directory object of version 2 (format document, "Directory object").
extension EntryMetadata {
    enum Flag {
        static let owner: UInt8 = 4
        static let link: UInt8 = 8
        static let holes: UInt8 = 16
        static let extendedAttributes: UInt8 = 32
        static let known: UInt8 = 60
    }

    var flags: UInt8 {
        (owner == nil ? 0 : Flag.owner) | (link == nil ? 0 : Flag.link) | (holeBytes == 0 ? 0 : Flag.holes)
            | (extendedAttributes.isEmpty ? 0 : Flag.extendedAttributes)
    }

    func encode(into writer: inout ByteWriter) {
        if let owner {
            writer.append(owner.user)
            writer.append(owner.group)
        }
        if let link {
            writer.append(link.fileSystem)
            writer.append(link.inode)
        }
        if holeBytes > 0 { writer.append(holeBytes) }
        guard !extendedAttributes.isEmpty else { return }
        writer.append(UInt16(extendedAttributes.count))
        for attribute in extendedAttributes {
            writer.append(UInt8(truncatingIfNeeded: attribute.name.count))
            writer.append(raw: attribute.name)
            writer.append(lengthPrefixed: attribute.value)
        }
    }

    /// - Returns: `nil` if no flag is set.
    /// - Throws: `repositoryDamaged`.
    static func decode(flags: UInt8, _ reader: inout ByteReader) throws(BackupError) -> EntryMetadata? {
        var owner: FileOwner?
        if flags & Flag.owner != 0 {
            let user = try reader.read(UInt32.self)
            owner = FileOwner(user: user, group: try reader.read())
        }
        var link: Link?
        if flags & Flag.link != 0 {
            let fileSystem = try reader.read(UInt64.self)
            link = Link(fileSystem: fileSystem, inode: try reader.read())
        }
        var holeBytes: UInt64 = 0
        if flags & Flag.holes != 0 {
            holeBytes = try reader.read()
            guard holeBytes > 0 else { throw Self.damage }
        }
        let attributes = flags & Flag.extendedAttributes == 0 ? [] : try decodeAttributes(&reader)
        return of(owner: owner, link: link, holeBytes: holeBytes, extendedAttributes: attributes)
    }

    private static func decodeAttributes(_ reader: inout ByteReader) throws(BackupError) -> [ExtendedAttribute] {
        let count = Int(try reader.read(UInt16.self))
        var attributes: [ExtendedAttribute] = []
        for _ in 0..<count {
            let nameLength = Int(try reader.read(UInt8.self))
            let name = Array(try reader.readRaw(count: nameLength))
            let value = Array(try reader.readLengthPrefixed())
            guard !name.isEmpty, !name.contains(0), attributes.last.map({ $0.name.lexicographicallyPrecedes(name) }) ?? true
            else { throw Self.damage }
            attributes.append(ExtendedAttribute(name: name, value: value))
        }
        guard !attributes.isEmpty else { throw Self.damage }
        return attributes
    }

    private static var damage: BackupError {
        BackupError(.repositoryDamaged, "what a directory entry says of extended attributes or holes does not fit together")
    }
}
