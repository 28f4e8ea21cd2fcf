import BackupCore

/// A file, folder or symbolic link in a snapshot's tree.
public struct TreeEntry: ContentEntry, Hashable {
    public let name: FileName
    public let kind: FileKind
    /// Permission bits and file type, as in `st_mode`.
    public let mode: UInt32
    /// For a symbolic link, that of the link itself.
    public let modificationTime: Timestamp
    /// A file's bytes, a symbolic link's target, or the bytes of a folder's directory object.
    public let content: FileContent
    /// For files only.
    let recorded: RecordedChecksums?
    /// For folders only.
    public let totals: DirectoryTotals?
    /// The inode and change time of the original, for files that were read from a folder of the app.
    public let sourceIdentity: SourceIdentity?
    /// Owner, extended attributes and similar; `nil` for none.
    public let metadata: EntryMetadata?

    /// All checksums of a file, where the folder records them; `Repository.checksums(of:)` computes the others.
    public var checksums: Checksums? { if case .all(let checksums) = recorded { checksums } else { nil } }

    /// The CRC-32 of a file's bytes; `nil` for folders and links.
    public var crc32: UInt32? {
        switch recorded {
        case .all(let checksums): checksums.crc32
        case .crc32(let crc32): crc32
        case nil: nil
        }
    }

    /// The stored folder; `nil` for a file or link.
    public var storedDirectory: StoredDirectory? { totals.map { StoredDirectory(content: content, totals: $0) } }

    /// - Parameter mode: permission bits; the file type is added.
    public static func file(
        name: FileName, mode: UInt32, modificationTime: Timestamp, content: FileContent, checksums: Checksums,
        sourceIdentity: SourceIdentity? = nil, metadata: EntryMetadata? = nil
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .file, mode: 0o100000 | mode & 0o7777, modificationTime: modificationTime, content: content,
            recorded: .all(checksums), totals: nil, sourceIdentity: sourceIdentity, metadata: metadata)
    }

    /// A file that this program has derived from others, whose digests are computed when they are asked for.
    /// - Parameter mode: permission bits; the file type is added.
    public static func derivedFile(
        name: FileName, mode: UInt32, modificationTime: Timestamp, content: FileContent, crc32: UInt32
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .file, mode: 0o100000 | mode & 0o7777, modificationTime: modificationTime, content: content,
            recorded: .crc32(crc32), totals: nil, sourceIdentity: nil, metadata: nil)
    }

    /// A file that this program has derived from others.
    /// - Parameter mode: permission bits; the file type is added.
    public static func derivedFile(
        name: FileName, mode: UInt32, modificationTime: Timestamp, stored: StoredDerivedFile
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .file, mode: 0o100000 | mode & 0o7777, modificationTime: modificationTime, content: stored.content,
            recorded: stored.recorded, totals: nil, sourceIdentity: nil, metadata: nil)
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
            content: stored.content, recorded: nil, totals: stored.totals, sourceIdentity: nil, metadata: metadata)
    }

    /// - Parameter target: the path that the link contains, as bytes.
    public static func symbolicLink(
        name: FileName, target: [UInt8], modificationTime: Timestamp, metadata: EntryMetadata? = nil
    ) -> TreeEntry {
        TreeEntry(
            name: name, kind: .symbolicLink, mode: 0o120777, modificationTime: modificationTime,
            content: FileContent(literal: target), recorded: nil, totals: nil, sourceIdentity: nil, metadata: metadata)
    }

    /// Size in bytes, as in stat(2): of a file, or of a link's target; 0 for folders.
    public var size: UInt64 { kind == .directory ? 0 : content.size }

    /// The permission bits of a copy. They exclude set-user-ID and set-group-ID: a copy that root creates without restoring
    /// owners would run as root.
    public var restoredPermissions: UInt32 { mode & 0o1777 }

    /// The target of a symbolic link.
    public var linkTarget: [UInt8]? { kind == .symbolicLink ? content.literalBytes : nil }

    /// Whether two names can be hard links to one file: everything stored about them is equal.
    public func isSameFile(as other: TreeEntry) -> Bool {
        kind == .file && other.kind == .file && mode == other.mode && modificationTime == other.modificationTime
            && size == other.size && hasSameBytes(as: other) && metadata == other.metadata
    }

    /// Whether what is recorded shows that two files have the same bytes.
    public func hasSameBytes(as other: TreeEntry) -> Bool {
        guard let checksums, let others = other.checksums else { return content == other.content }
        return checksums == others
    }

    /// Whether a file with these checksums has all that is recorded.
    func isProved(by found: Checksums) -> Bool { checksums.map { $0 == found } ?? (crc32 == found.crc32) }

    /// The same file with another time, without what identifies its original.
    public func renewed(at time: Timestamp) -> TreeEntry {
        TreeEntry(
            name: name, kind: kind, mode: mode, modificationTime: time, content: content, recorded: recorded, totals: totals,
            sourceIdentity: nil, metadata: nil)
    }

    /// The same entry with its content in another form.
    func replacing(content: FileContent) -> TreeEntry {
        TreeEntry(
            name: name, kind: kind, mode: mode, modificationTime: modificationTime, content: content, recorded: recorded,
            totals: totals, sourceIdentity: sourceIdentity, metadata: metadata)
    }

    /// The same entry with other metadata.
    public func replacing(metadata: EntryMetadata?) -> TreeEntry {
        TreeEntry(
            name: name, kind: kind, mode: mode, modificationTime: modificationTime, content: content, recorded: recorded,
            totals: totals, sourceIdentity: sourceIdentity, metadata: metadata)
    }
}

/// A file whose bytes are in the repository, once the backup that stored it is committed.
public struct StoredFile: Hashable, Sendable {
    public let content: FileContent
    public let checksums: Checksums

    public init(content: FileContent, checksums: Checksums) {
        self.content = content
        self.checksums = checksums
    }

    /// Size in bytes.
    public var size: UInt64 { content.size }
}

/// A file that this program has derived from others, as it was stored.
public struct StoredDerivedFile: Sendable {
    public let content: FileContent
    let recorded: RecordedChecksums
    /// Of the content's chunks, in order, for `BackupWriter.storeSpliced`; empty for a small file.
    public private(set) var chunkCRC32s: [UInt32] = []
}

/// What a folder records of a file's bytes.
enum RecordedChecksums: Hashable, Sendable {
    /// Of a derived file: its chunks prove its bytes, and reading them again for digests would take most of an unchanged backup.
    case crc32(UInt32)
    case all(Checksums)
}

/// What identifies, besides size and modification time, a file of the app as unchanged since its backup, so that it need not be
/// read again.
public struct SourceIdentity: Hashable, Sendable {
    /// The file's number when it was backed up.
    public let inode: UInt64
    /// No program can set it, so it shows changes that keep the size and the modification time.
    public let changeTime: Timestamp

    public init(inode: UInt64, changeTime: Timestamp) {
        self.inode = inode
        self.changeTime = changeTime
    }
}

/// The encoding of a file's checksums, in directory objects and in the catalog.
extension Checksums {
    static let encodedSizeBytes = 4 + MD5Digest.byteCount + SHA1Digest.byteCount + SHA256Digest.byteCount

    func encode(into writer: inout ByteWriter) {
        writer.append(crc32)
        writer.append(md5)
        writer.append(sha1)
        writer.append(sha256)
    }

    init(decoding reader: inout ByteReader) throws(BackupError) {
        let crc32 = try reader.read(UInt32.self)
        let md5 = try reader.readDigest(MD5Digest.self)
        let sha1 = try reader.readDigest(SHA1Digest.self)
        self.init(crc32: crc32, md5: md5, sha1: sha1, sha256: try reader.readDigest())
    }
}

/// The encoding of an entry in a directory object (format document, "Directory object").
extension TreeEntry {
    private enum Flag {
        static let checksums: UInt8 = 1
        static let sourceIdentity: UInt8 = 2
        /// The entry has the CRC-32 without the digests. Only in a directory object of version 3.
        static let crc32: UInt8 = 64
        static let known: UInt8 = 3
    }

    private var recordedFlag: UInt8 {
        switch recorded {
        case .all: Flag.checksums
        case .crc32: Flag.crc32
        case nil: 0
        }
    }

    /// The oldest version of the directory object that can hold the entry.
    var directoryVersion: UInt16 {
        if case .crc32 = recorded { return Directory.derivedVersion }
        return metadata == nil ? Directory.plainVersion : Directory.metadataVersion
    }

    func encode(into writer: inout ByteWriter) {
        writer.append(kind.rawValue)
        writer.append(
            recordedFlag | (sourceIdentity == nil ? 0 : Flag.sourceIdentity) | (metadata?.flags ?? 0))
        writer.append(UInt8(truncatingIfNeeded: name.bytes.count))
        writer.append(raw: name.bytes)
        writer.append(mode)
        writer.append(modificationTime)
        switch recorded {
        case .all(let checksums): checksums.encode(into: &writer)
        case .crc32(let crc32): writer.append(crc32)
        case nil: break
        }
        if let sourceIdentity {
            writer.append(sourceIdentity.inode)
            writer.append(sourceIdentity.changeTime)
        }
        metadata?.encode(into: &writer)
        if let totals { totals.encode(into: &writer) }
        content.encode(into: &writer)
    }

    private static func contradiction(_ name: FileName) -> BackupError {
        BackupError(.repositoryDamaged, "the entry “\(MessageText.name(name.bytes))” of a directory does not fit together")
    }

    /// - Parameter version: of the directory object.
    /// - Throws: `repositoryDamaged` for anything that `encode` would not write; `unsupportedVersion` for unknown kinds and
    ///   fields.
    init(decoding reader: inout ByteReader, version: UInt16) throws(BackupError) {
        guard let kind = FileKind(rawValue: try reader.read()) else {
            throw StructureHeader.unknown("a directory entry is of a kind that this program does not know")
        }
        let flags = try reader.read(UInt8.self)
        var known = Flag.known
        if version >= Directory.metadataVersion { known |= EntryMetadata.Flag.known }
        if version >= Directory.derivedVersion { known |= Flag.crc32 }
        guard flags & ~known == 0 else {
            throw StructureHeader.unknown("a directory entry has fields that this program does not know")
        }
        let nameLength = Int(try reader.read(UInt8.self))
        let name = FileName(bytes: Array(try reader.readRaw(count: nameLength)))
        guard name.isSafeComponent else { throw BackupError(.repositoryDamaged, "a directory entry has an unsafe name") }
        let mode = try reader.read(UInt32.self)
        let modificationTime = try reader.readTimestamp()
        var recorded: RecordedChecksums?
        if flags & Flag.crc32 != 0 {
            guard flags & Flag.checksums == 0 else { throw Self.contradiction(name) }
            recorded = .crc32(try reader.read(UInt32.self))
        } else if flags & Flag.checksums != 0 {
            recorded = .all(try Checksums(decoding: &reader))
        }
        var sourceIdentity: SourceIdentity?
        if flags & Flag.sourceIdentity != 0 {
            let inode = try reader.read(UInt64.self)
            sourceIdentity = SourceIdentity(inode: inode, changeTime: try reader.readTimestamp())
        }
        let metadata = try EntryMetadata.decode(flags: flags, &reader)
        let totals = kind == .directory ? try DirectoryTotals(decoding: &reader) : nil
        let content = try FileContent(decoding: &reader)
        guard (kind == .file) == (recorded != nil), kind == .file || sourceIdentity == nil,
            kind != .symbolicLink || content.literalBytes != nil, mode & ~0o7777 == kind.modeBits,
            kind == .file || metadata?.link == nil && metadata?.holeBytes ?? 0 == 0
        else { throw Self.contradiction(name) }
        self.init(
            name: name, kind: kind, mode: mode, modificationTime: modificationTime, content: content, recorded: recorded,
            totals: totals, sourceIdentity: sourceIdentity, metadata: metadata)
    }
}
