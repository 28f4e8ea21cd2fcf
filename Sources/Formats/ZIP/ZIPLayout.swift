import BackupCore

/// Lays files out as one ZIP archive without building it: the result is a table of extents over stored chunks, so its size is
/// known exactly from the start, and any byte range of it can be computed.
///
/// An entry whose chunks are all stored raw is "stored" (method 0). An entry with any deflated chunk is "deflated" (method 8):
/// it contains the stored bytes of such chunks, and frames everything else as DEFLATE stored blocks.
///
/// The same members in the same order must give the same bytes forever: a change to the written format needs a new `version`, and
/// the old one must still be served for the snapshots that were created with it.
public struct ZIPLayout: ArchiveLayout {
    /// The version of the rules for writing; recorded with each snapshot.
    public static let version: UInt32 = 1

    /// Literal bytes are collected up to about this size before they become an extent.
    private static let literalSizeBytes = 64 << 10

    private var table = ExtentTable()
    private var literal = ByteWriter()
    private var centralBlocks: [[UInt8]] = []
    private var central = ByteWriter()
    private var counter = SizeCounter()

    public init() {}

    /// Adds one entry. Writes names unchanged; the caller must ensure that they are unique.
    /// - Throws: `nameTooLong`; `invalidArgument` for an empty name or a folder with content; `repositoryDamaged` when the
    ///   pieces do not add up to the member's size. The layout is unchanged then.
    public mutating func append(_ member: ArchiveMember) throws(BackupError) {
        let header = try ZIPEntryHeader(member)
        let localOffset = counter.localSize
        header.appendLocal(to: &literal)
        if header.method == ZIPFormat.deflateMethod {
            for piece in member.content { appendDeflated(piece) }
            literal.append(raw: DeflateFraming.end)
        } else {
            for piece in member.content { appendPlain(piece, 0..<piece.length) }
        }
        header.appendCentral(to: &central, localOffset: localOffset)
        if central.bytes.count >= Self.literalSizeBytes {
            centralBlocks.append(central.bytes)
            central = ByteWriter()
        }
        counter.append(header)
        flushLiteral(ifAtLeast: Self.literalSizeBytes)
    }

    /// Closes the archive with its central directory.
    public consuming func finish() -> ExtentTable {
        flushLiteral(ifAtLeast: 1)
        for block in centralBlocks { table.append(Extent.literal(block)) }
        literal = central
        counter.appendEndRecords(to: &literal)
        flushLiteral(ifAtLeast: 1)
        table.trim()
        assert(table.size == counter.archivedSize, "the size is known before the bytes are")
        return table
    }

    private mutating func appendDeflated(_ piece: ContentPiece) {
        if case .chunk(let chunk) = piece, ZIPEntryHeader.isDeflated(piece) {
            append(Extent.stored(chunk))
            return
        }
        var start: UInt64 = 0
        while start < piece.length {
            let end = min(start + DeflateFraming.blockSizeLimitBytes, piece.length)
            literal.append(raw: DeflateFraming.blockHeader(length: UInt16(end - start)))
            appendPlain(piece, start..<end)
            start = end
        }
    }

    private mutating func appendPlain(_ piece: ContentPiece, _ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        let length = range.upperBound - range.lowerBound
        switch piece {
        case .literal(let bytes):
            literal.append(raw: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            flushLiteral(ifAtLeast: Self.literalSizeBytes)
        case .chunk(let chunk):
            append(Extent.plain(chunk, offset: UInt32(range.lowerBound), length: UInt32(length)))
        case .source(let source, let offset, _):
            append(Extent.source(source, offset: offset + range.lowerBound, length: length))
        }
    }

    private mutating func append(_ extent: Extent) {
        flushLiteral(ifAtLeast: 1)
        table.append(extent)
    }

    private mutating func flushLiteral(ifAtLeast limit: Int) {
        guard literal.bytes.count >= limit else { return }
        table.append(Extent.literal(literal.bytes))
        literal = ByteWriter()
    }
}

extension ZIPLayout {
    /// Counts the bytes of an archive member by member, for a folder listing, without the extents.
    public struct SizeCounter: ArchiveSizeCounter {
        /// Bytes of the local headers and the entries' data so far: the offset of the next local header.
        private(set) var localSize: UInt64 = 0
        private var centralSize: UInt64 = 0
        private var entryCount: UInt64 = 0

        public init() {}

        /// - Throws: like `ZIPLayout.append(_:)`.
        public mutating func append(_ member: ArchiveMember) throws(BackupError) { append(try ZIPEntryHeader(member)) }

        /// - Parameter content: the totals of the member's content, which the member itself may omit.
        /// - Throws: like `ZIPLayout.append(_:)`.
        public mutating func append(_ member: ArchiveMember, _ content: ZIPContentMeasure) throws(BackupError) {
            append(try ZIPEntryHeader(member, content))
        }

        mutating func append(_ header: ZIPEntryHeader) {
            centralSize += header.centralHeaderSize(localOffset: localSize)
            localSize += header.localHeaderSize + header.compressedSize
            entryCount += 1
        }

        /// Exact size in bytes of the archive of all members so far.
        public var archivedSize: UInt64 {
            let zip64Size = needsZIP64 ? ZIPFormat.zip64EndRecordSize + ZIPFormat.zip64LocatorSize : 0
            return localSize + centralSize + UInt64(zip64Size + ZIPFormat.endRecordSize)
        }

        private var needsZIP64: Bool {
            entryCount >= UInt64(ZIPFormat.limit16) || centralSize >= UInt64(ZIPFormat.limit32)
                || localSize >= UInt64(ZIPFormat.limit32)
        }

        func appendEndRecords(to writer: inout ByteWriter) {
            if needsZIP64 {
                writer.append(ZIPFormat.zip64EndRecordSignature)
                writer.append(UInt64(ZIPFormat.zip64EndRecordSize - 12))  // what follows this field
                writer.append(ZIPFormat.unixHost << 8 | 45)
                writer.append(UInt16(45))
                writer.append(UInt32(0))  // this disk
                writer.append(UInt32(0))  // the central directory's disk
                writer.append(entryCount)
                writer.append(entryCount)
                writer.append(centralSize)
                writer.append(localSize)
                writer.append(ZIPFormat.zip64LocatorSignature)
                writer.append(UInt32(0))  // the record's disk
                writer.append(localSize + centralSize)
                writer.append(UInt32(1))  // disks in all
            }
            let count = UInt16(min(entryCount, UInt64(ZIPFormat.limit16)))
            writer.append(ZIPFormat.endRecordSignature)
            writer.append(UInt16(0))
            writer.append(UInt16(0))
            writer.append(count)
            writer.append(count)
            writer.append(UInt32(min(centralSize, UInt64(ZIPFormat.limit32))))
            writer.append(UInt32(min(localSize, UInt64(ZIPFormat.limit32))))
            writer.append(UInt16(0))  // comment length
        }
    }
}

/// Plain bytes inside a DEFLATE stream (RFC 1951, section 3.2.4): stored blocks, each a header of five bytes and up to 65,535
/// raw bytes. They may be anywhere the stream is on a byte boundary, so before and after every stored segment.
enum DeflateFraming {
    static let blockSizeLimitBytes: UInt64 = 65_535
    static let blockHeaderSize: UInt64 = 5

    /// An empty final block with fixed codes: it completes a run of segments to a whole stream.
    static let end: [UInt8] = [0x03, 0x00]

    /// Length of `plainLength` bytes with their block headers; 0 for 0.
    static func framedLength(_ plainLength: UInt64) -> UInt64 {
        let blockCount = plainLength / blockSizeLimitBytes + (plainLength.isMultiple(of: blockSizeLimitBytes) ? 0 : 1)
        return plainLength + blockCount * blockHeaderSize
    }

    /// Header of a block that is not the final one: a zero byte, the length and its complement, both little-endian.
    static func blockHeader(length: UInt16) -> [UInt8] {
        let complement = ~length
        return [
            0, UInt8(truncatingIfNeeded: length), UInt8(length >> 8), UInt8(truncatingIfNeeded: complement),
            UInt8(complement >> 8),
        ]
    }
}

/// The totals of a ZIP entry's content, added up piece by piece: a database has millions of pieces.
public struct ZIPContentMeasure: Sendable {
    /// Bytes of the plain content.
    private(set) var size: UInt64 = 0
    private(set) var hasDeflated = false
    /// Bytes of the content as DEFLATE: the stored bytes of deflated chunks, and everything else in frames.
    private(set) var deflatedSize = UInt64(DeflateFraming.end.count)

    public init() {}

    /// - Returns: `nil` if the bytes are not those of `encoded`, or of another version of the layout.
    public init?(_ encoded: [UInt8]) {
        var reader = ByteReader(encoded)
        guard (try? reader.read(UInt32.self)) == ZIPLayout.version, let size = try? reader.read(UInt64.self),
            let deflatedSize = try? reader.read(UInt64.self), let hasDeflated = try? reader.read(UInt8.self), hasDeflated <= 1,
            reader.isAtEnd
        else { return nil }
        self.size = size
        self.deflatedSize = deflatedSize
        self.hasDeflated = hasDeflated == 1
    }

    /// Adds what follows.
    public mutating func append(_ other: ZIPContentMeasure) {
        size += other.size
        hasDeflated = hasDeflated || other.hasDeflated
        deflatedSize += other.deflatedSize - UInt64(DeflateFraming.end.count)
    }

    /// For keeping it.
    public var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(ZIPLayout.version)
        writer.append(size)
        writer.append(deflatedSize)
        writer.append(UInt8(hasDeflated ? 1 : 0))
        return writer.bytes
    }

    /// Adds a piece of the member's content, in order.
    public mutating func append(_ piece: ContentPiece) {
        size += piece.length
        if case .chunk(let chunk) = piece, ZIPEntryHeader.isDeflated(piece) {
            hasDeflated = true
            deflatedSize += UInt64(chunk.storedLength)
        } else {
            deflatedSize += DeflateFraming.framedLength(piece.length)
        }
    }
}

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
