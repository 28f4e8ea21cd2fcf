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
