import BackupCore

/// The content of the local and the central header of one written entry.
///
/// - Names that are valid UTF-8 and not plain ASCII have the UTF-8 flag; names that are not UTF-8 are written unchanged, without
///   it.
/// - "Made by" is Unix, so the mode is in the upper half of the external attributes.
/// - ZIP64 fields appear only where a 32-bit field is too small.
struct ZIPEntryHeader {
    let path: [UInt8]
    let method: UInt16
    let crc32: UInt32
    let size: UInt64
    let compressedSize: UInt64
    private let flags: UInt16
    private let mode: UInt32
    private let modificationTime: Timestamp
    private let isDirectory: Bool

    /// - Throws: `nameTooLong`; `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` when the
    ///   pieces do not add up to the member's size: an archive made of them would be invalid.
    init(_ member: ArchiveMember) throws(BackupError) {
        var measure = ZIPContentMeasure()
        for piece in member.content { measure.append(piece) }
        try self.init(member, measure)
    }

    /// - Parameter content: the totals of the member's content, which the member itself need not contain.
    /// - Throws: like the initializer above.
    init(_ member: ArchiveMember, _ content: ZIPContentMeasure) throws(BackupError) {
        let name = String(decoding: member.path, as: UTF8.self)
        guard !member.path.isEmpty else { throw BackupError(.invalidArgument, "an archive member has no name") }
        guard member.path.count < Int(ZIPFormat.limit16) else {
            throw BackupError(.nameTooLong, "the path is too long for a ZIP archive (65,534 bytes at most)", path: name)
        }
        let total = content.size
        guard total == member.size else {
            throw BackupError(
                .repositoryDamaged, "the pieces of the file have \(total) bytes together instead of \(member.size)", path: name)
        }
        guard !member.isDirectory || member.size == 0 else {
            throw BackupError(.invalidArgument, "a folder cannot have content in an archive", path: name)
        }
        path = member.path
        size = member.size
        crc32 = member.crc32
        modificationTime = member.modificationTime
        isDirectory = member.isDirectory
        let type = isDirectory ? FileTypeBits.directory : member.mode & FileTypeBits.mask
        mode = member.mode & 0o7777 | (type == 0 ? FileTypeBits.regularFile : type)
        let isASCII = path.allSatisfy { $0 < 0x80 }
        flags = !isASCII && String(validating: path, as: UTF8.self) != nil ? ZIPFormat.utf8Flag : 0
        if content.hasDeflated {
            method = ZIPFormat.deflateMethod
            compressedSize = content.deflatedSize
        } else {
            method = ZIPFormat.storedMethod
            compressedSize = member.size
        }
    }

    /// Whether the piece's stored bytes can be part of a DEFLATE stream unchanged.
    static func isDeflated(_ piece: ContentPiece) -> Bool {
        if case .chunk(let chunk) = piece { return chunk.codec == .deflate && chunk.plainLength > 0 }
        return false
    }

    private var hasZIP64Sizes: Bool {
        size >= UInt64(ZIPFormat.limit32) || compressedSize >= UInt64(ZIPFormat.limit32)
    }

    private var timestampExtraSize: Int { ZIPTime.unix(modificationTime) == nil ? 0 : 9 }

    var localHeaderSize: UInt64 {
        UInt64(ZIPFormat.localHeaderSize + path.count + (hasZIP64Sizes ? 20 : 0) + timestampExtraSize)
    }

    func centralHeaderSize(localOffset: UInt64) -> UInt64 {
        UInt64(ZIPFormat.centralHeaderSize + path.count + zip64CentralExtraSize(localOffset) + timestampExtraSize)
    }

    private func zip64CentralExtraSize(_ localOffset: UInt64) -> Int {
        let count = (hasZIP64Sizes ? 16 : 0) + (localOffset >= UInt64(ZIPFormat.limit32) ? 8 : 0)
        return count == 0 ? 0 : count + 4
    }

    func appendLocal(to writer: inout ByteWriter) {
        writer.append(ZIPFormat.localHeaderSignature)
        appendCommonFields(to: &writer, version: hasZIP64Sizes ? 45 : 20)
        writer.append(UInt16(path.count))
        writer.append(UInt16((hasZIP64Sizes ? 20 : 0) + timestampExtraSize))
        writer.append(raw: path)
        if hasZIP64Sizes {
            writer.append(ZIPFormat.zip64Extra)
            writer.append(UInt16(16))
            writer.append(size)
            writer.append(compressedSize)
        }
        appendTimestampExtra(to: &writer)
    }

    func appendCentral(to writer: inout ByteWriter, localOffset: UInt64) {
        let zip64Size = zip64CentralExtraSize(localOffset)
        let isFarOffset = localOffset >= UInt64(ZIPFormat.limit32)
        writer.append(ZIPFormat.centralHeaderSignature)
        writer.append(ZIPFormat.unixHost << 8 | (zip64Size > 0 ? 45 : 30))
        appendCommonFields(to: &writer, version: zip64Size > 0 ? 45 : 20)
        writer.append(UInt16(path.count))
        writer.append(UInt16(zip64Size + timestampExtraSize))
        writer.append(UInt16(0))  // comment length
        writer.append(UInt16(0))  // disk
        writer.append(UInt16(0))  // internal attributes
        writer.append(mode << 16 | (isDirectory ? ZIPFormat.msdosDirectoryAttribute : 0))
        writer.append(isFarOffset ? ZIPFormat.limit32 : UInt32(localOffset))
        writer.append(raw: path)
        if zip64Size > 0 {
            writer.append(ZIPFormat.zip64Extra)
            writer.append(UInt16(zip64Size - 4))
            if hasZIP64Sizes {
                writer.append(size)
                writer.append(compressedSize)
            }
            if isFarOffset { writer.append(localOffset) }
        }
        appendTimestampExtra(to: &writer)
    }

    /// The fields that both headers share, from "version needed" to the sizes.
    private func appendCommonFields(to writer: inout ByteWriter, version: UInt16) {
        let clock = ZIPTime.msdos(modificationTime)
        writer.append(version)
        writer.append(flags)
        writer.append(method)
        writer.append(clock.time)
        writer.append(clock.date)
        writer.append(crc32)
        writer.append(hasZIP64Sizes ? ZIPFormat.limit32 : UInt32(compressedSize))
        writer.append(hasZIP64Sizes ? ZIPFormat.limit32 : UInt32(size))
    }

    private func appendTimestampExtra(to writer: inout ByteWriter) {
        guard let seconds = ZIPTime.unix(modificationTime) else { return }
        writer.append(ZIPFormat.extendedTimestampExtra)
        writer.append(UInt16(5))
        writer.append(UInt8(1))  // only the modification time follows
        writer.append(seconds)
    }
}
