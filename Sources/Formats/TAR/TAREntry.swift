import BackupCore

/// The headers before one member's content: a ustar header, preceded by an extended one if the ustar fields do not suffice.
///
/// Owner and group are 0 without names: the bytes must not depend on who owns the files where the archive is read. If an extended
/// header overrides a field, the field holds the part of a path that fits, or 0 for a number.
struct TAREntry {
    /// Folders end with `/`.
    let path: [UInt8]
    /// Empty except for symbolic links.
    let linkTarget: [UInt8]
    let type: UInt8
    let permissions: UInt32
    /// Bytes of content; 0 for folders and links.
    let size: UInt64
    let modificationTime: Timestamp
}

extension TAREntry {
    /// Reads no content of a member except the target of a symbolic link.
    /// - Throws: `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` for a link without its target.
    init(_ member: ArchiveMember) throws(BackupError) {
        guard !member.path.isEmpty else { throw BackupError(.invalidArgument, "an archive member has no name") }
        let name = String(decoding: member.path, as: UTF8.self)
        let isLink = member.isSymbolicLink
        if member.isDirectory {
            guard member.size == 0 else {
                throw BackupError(.invalidArgument, "a folder cannot have content in an archive", path: name)
            }
            type = TARFormat.directoryType
        } else {
            type = isLink ? TARFormat.linkType : TARFormat.regularType
        }
        linkTarget = isLink ? try Self.target(of: member, name) : []
        path = member.path
        permissions = member.mode & 0o7777
        size = isLink ? 0 : member.size
        modificationTime = member.modificationTime
    }

    private static func target(of member: ArchiveMember, _ name: String) throws(BackupError) -> [UInt8] {
        var target: [UInt8] = []
        for case .literal(let bytes) in member.content { target += bytes }
        guard !target.isEmpty, UInt64(target.count) == member.size else {
            throw BackupError(.repositoryDamaged, "the target of the symbolic link is missing", path: name)
        }
        return target
    }

    // MARK: Sizes

    /// Bytes of all headers before the content.
    var headerSize: UInt64 {
        let records = UInt64(extendedRecords.count)
        guard records > 0 else { return TARFormat.blockSizeBytes }
        return 2 * TARFormat.blockSizeBytes + records + TARFormat.paddingSize(after: records)
    }

    /// Zeros after the content.
    var paddingSize: UInt64 { TARFormat.paddingSize(after: size) }

    // MARK: Bytes

    /// All headers before the content.
    var header: [UInt8] {
        let records = extendedRecords
        let split = Self.split(path)
        let own = TARHeaderBlock(
            name: split?.name ?? path.prefix(TARFormat.nameField.count), prefix: split?.prefix ?? [],
            linkTarget: linkTarget.prefix(TARFormat.linkField.count), type: type, permissions: permissions,
            size: hasFittingSize ? size : 0, seconds: hasFittingSeconds ? UInt64(modificationTime.seconds) : 0
        ).bytes
        guard !records.isEmpty else { return own }
        // Every extended header has this name, the one that Python uses: programs that do not know the type unpack it as a file.
        let extended = TARHeaderBlock(
            name: Array("././@PaxHeader".utf8)[...], prefix: [], linkTarget: [], type: TARFormat.extendedHeaderType,
            permissions: 0o644, size: UInt64(records.count), seconds: 0
        ).bytes
        let padding = [UInt8](repeating: 0, count: Int(TARFormat.paddingSize(after: UInt64(records.count))))
        return extended + records + padding + own
    }

    /// The records of the extended header; empty when none is needed.
    private var extendedRecords: [UInt8] {
        let hasPath = !Self.isASCII(path) || Self.split(path) == nil
        let hasTarget = !Self.isASCII(linkTarget) || linkTarget.count > TARFormat.linkField.count
        var records = PAXRecords()
        // Applies to the following records.
        if hasPath && !Self.isUTF8(path) || hasTarget && !Self.isUTF8(linkTarget) {
            records.append("hdrcharset", Array("BINARY".utf8))
        }
        if hasPath { records.append("path", path) }
        if hasTarget { records.append("linkpath", linkTarget) }
        if !hasFittingSize { records.append("size", Array(String(size).utf8)) }
        if !hasFittingSeconds || modificationTime.nanoseconds != 0 {
            records.append("mtime", Array(PAXRecords.text(of: modificationTime).utf8))
        }
        return records.bytes
    }

    private var hasFittingSize: Bool { size <= TARFormat.octalLimit }
    private var hasFittingSeconds: Bool { (0...Int64(TARFormat.octalLimit)).contains(modificationTime.seconds) }

    private static func isASCII(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { $0 < 0x80 } }
    private static func isUTF8(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

    /// Splits a path into the two fields of ustar: whole, or cut at the first slash after which the rest fits into the name.
    /// - Returns: `nil` when there is no such slash.
    private static func split(_ path: [UInt8]) -> (prefix: ArraySlice<UInt8>, name: ArraySlice<UInt8>)? {
        guard path.count > TARFormat.nameField.count else { return ([], path[...]) }
        let slash = UInt8(ascii: "/")
        let earliest = path.count - TARFormat.nameField.count - 1
        // The last byte is a folder's own slash: the name must not be empty.
        guard let cut = path[earliest..<path.count - 1].firstIndex(of: slash), cut > 0,
            cut <= TARFormat.prefixField.count
        else { return nil }
        return (path[..<cut], path[(cut + 1)...])
    }
}
