import BackupCore

/// The encoding of an entry in a directory object (format document, "Directory object").
extension TreeEntry {
    private enum Flag {
        static let checksums: UInt8 = 1
        static let sourceIdentity: UInt8 = 2
        static let known: UInt8 = 3
    }

    func encode(into writer: inout ByteWriter) {
        writer.append(kind.rawValue)
        writer.append(
            (checksums == nil ? 0 : Flag.checksums) | (sourceIdentity == nil ? 0 : Flag.sourceIdentity) | (metadata?.flags ?? 0))
        writer.append(UInt8(truncatingIfNeeded: name.bytes.count))
        writer.append(raw: name.bytes)
        writer.append(mode)
        writer.append(modificationTime)
        if let checksums {
            writer.append(checksums.crc32)
            writer.append(checksums.md5)
            writer.append(checksums.sha1)
            writer.append(checksums.sha256)
        }
        if let sourceIdentity {
            writer.append(sourceIdentity.inode)
            writer.append(sourceIdentity.changeTime)
        }
        metadata?.encode(into: &writer)
        if let totals { totals.encode(into: &writer) }
        content.encode(into: &writer)
    }

    /// - Parameter version: of the directory object.
    /// - Throws: `repositoryDamaged` for anything that `encode` would not write; `unsupportedVersion` for unknown kinds and fields.
    init(decoding reader: inout ByteReader, version: UInt16) throws(BackupError) {
        guard let kind = Kind(rawValue: try reader.read()) else {
            throw StructureHeader.unknown("a directory entry is of a kind that this program does not know")
        }
        let flags = try reader.read(UInt8.self)
        let known = version == Directory.plainVersion ? Flag.known : Flag.known | EntryMetadata.Flag.known
        guard flags & ~known == 0 else {
            throw StructureHeader.unknown("a directory entry has fields that this program does not know")
        }
        let nameLength = Int(try reader.read(UInt8.self))
        let name = FileName(bytes: Array(try reader.readRaw(count: nameLength)))
        guard name.isSafeComponent else { throw BackupError(.repositoryDamaged, "a directory entry has an unsafe name") }
        let mode = try reader.read(UInt32.self)
        let modificationTime = try reader.readTimestamp()
        var checksums: Checksums?
        if flags & Flag.checksums != 0 {
            let crc32 = try reader.read(UInt32.self)
            let md5 = try reader.readDigest(MD5Digest.self)
            let sha1 = try reader.readDigest(SHA1Digest.self)
            checksums = Checksums(crc32: crc32, md5: md5, sha1: sha1, sha256: try reader.readDigest())
        }
        var sourceIdentity: SourceIdentity?
        if flags & Flag.sourceIdentity != 0 {
            let inode = try reader.read(UInt64.self)
            sourceIdentity = SourceIdentity(inode: inode, changeTime: try reader.readTimestamp())
        }
        let metadata = try EntryMetadata.decode(flags: flags, &reader)
        let totals = kind == .directory ? try DirectoryTotals(decoding: &reader) : nil
        let content = try FileContent(decoding: &reader)
        guard (kind == .file) == (checksums != nil), kind == .file || sourceIdentity == nil,
            kind != .symbolicLink || content.literalBytes != nil, mode >> 12 == kind.modeType,
            kind == .file || metadata?.link == nil && metadata?.holeBytes ?? 0 == 0
        else {
            throw BackupError(
                .repositoryDamaged, "the entry “\(MessageText.name(name.bytes))” of a directory does not fit together")
        }
        self.init(
            name: name, kind: kind, mode: mode, modificationTime: modificationTime, content: content, checksums: checksums,
            totals: totals, sourceIdentity: sourceIdentity, metadata: metadata)
    }
}

extension TreeEntry.Kind {
    /// The upper bits of `st_mode`.
    fileprivate var modeType: UInt32 {
        switch self {
        case .file: 0o10
        case .directory: 0o04
        case .symbolicLink: 0o12
        }
    }
}
