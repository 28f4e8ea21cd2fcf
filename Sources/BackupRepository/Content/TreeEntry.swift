import BackupCore

/// A file, folder or symbolic link in a snapshot's tree.
public struct TreeEntry: Hashable, Sendable {
    /// The raw values are part of the repository format.
    public enum Kind: UInt8, Sendable {
        case file = 1
        case directory = 2
        case symbolicLink = 3
    }

    public let name: FileName
    public let kind: Kind
    /// Permission bits and file type, as in `st_mode`.
    public let mode: UInt32
    public let modificationTime: Timestamp
    /// A file's bytes, a symbolic link's target, or the bytes of a folder's directory object.
    public let content: FileContent
    /// For files only.
    public let checksums: Checksums?
    /// For folders only.
    public let totals: DirectoryTotals?
    /// The inode and change time of the original, for files that were read from a folder of the app.
    public let sourceIdentity: SourceIdentity?
    /// Owner, extended attributes and similar; `nil` for none.
    public let metadata: EntryMetadata?

    /// The stored folder; `nil` for a file or link.
    public var storedDirectory: StoredDirectory? { totals.map { StoredDirectory(content: content, totals: $0) } }

    init(
        name: FileName, kind: Kind, mode: UInt32, modificationTime: Timestamp, content: FileContent, checksums: Checksums?,
        totals: DirectoryTotals?, sourceIdentity: SourceIdentity?, metadata: EntryMetadata?
    ) {
        self.name = name
        self.kind = kind
        self.mode = mode
        self.modificationTime = modificationTime
        self.content = content
        self.checksums = checksums
        self.totals = totals
        self.sourceIdentity = sourceIdentity
        self.metadata = metadata
    }

    /// - Parameter mode: permission bits; the file type is added.
    public static func file(
        name: FileName, mode: UInt32, modificationTime: Timestamp, content: FileContent, checksums: Checksums,
        sourceIdentity: SourceIdentity? = nil, metadata: EntryMetadata? = nil
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .file, mode: 0o100000 | mode & 0o7777, modificationTime: modificationTime, content: content,
            checksums: checksums, totals: nil, sourceIdentity: sourceIdentity, metadata: metadata)
    }

    /// - Parameter mode: permission bits; the file type is added.
    public static func file(
        name: FileName, mode: UInt32, modificationTime: Timestamp, stored: StoredFile, sourceIdentity: SourceIdentity? = nil,
        metadata: EntryMetadata? = nil
    ) -> TreeEntry {
        file(
            name: name, mode: mode, modificationTime: modificationTime, content: stored.content, checksums: stored.checksums,
            sourceIdentity: sourceIdentity, metadata: metadata)
    }

    /// - Parameter mode: permission bits; the file type is added.
    public static func directory(
        name: FileName, mode: UInt32, modificationTime: Timestamp, stored: StoredDirectory, metadata: EntryMetadata? = nil
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .directory, mode: 0o040000 | mode & 0o7777, modificationTime: modificationTime,
            content: stored.content, checksums: nil, totals: stored.totals, sourceIdentity: nil, metadata: metadata)
    }

    /// - Parameter target: the path that the link contains, as bytes.
    public static func symbolicLink(
        name: FileName, target: [UInt8], modificationTime: Timestamp, metadata: EntryMetadata? = nil
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .symbolicLink, mode: 0o120777, modificationTime: modificationTime,
            content: FileContent(literal: target), checksums: nil, totals: nil, sourceIdentity: nil, metadata: metadata)
    }

    /// Size in bytes, as in stat(2): of a file, or of a link's target; 0 for folders.
    public var size: UInt64 { kind == .directory ? 0 : content.size }

    /// The permission bits of a copy. They exclude set-user-ID and set-group-ID: a copy that root creates without restoring owners would run as root.
    public var restoredPermissions: UInt32 { mode & 0o1777 }

    /// The target of a symbolic link.
    public var linkTarget: [UInt8]? { kind == .symbolicLink ? content.literalBytes : nil }

    /// Whether two names can be hard links to one file: everything stored about them is equal.
    public func isSameFile(as other: TreeEntry) -> Bool {
        kind == .file && other.kind == .file && mode == other.mode && modificationTime == other.modificationTime
            && size == other.size && checksums == other.checksums && metadata == other.metadata
    }

    /// The same entry with its content in another form.
    func replacing(content: FileContent) -> TreeEntry {
        TreeEntry(
            name: name, kind: kind, mode: mode, modificationTime: modificationTime, content: content, checksums: checksums,
            totals: totals, sourceIdentity: sourceIdentity, metadata: metadata)
    }

    /// The same entry with other metadata.
    public func replacing(metadata: EntryMetadata?) -> TreeEntry {
        TreeEntry(
            name: name, kind: kind, mode: mode, modificationTime: modificationTime, content: content, checksums: checksums,
            totals: totals, sourceIdentity: sourceIdentity, metadata: metadata)
    }
}
