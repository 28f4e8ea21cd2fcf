import BackupCore

/// Lays files out as one ZIP archive without building it: the result is a table of extents over stored chunks, so its size is known exactly from
/// the start, and any byte range of it can be computed.
///
/// An entry whose chunks are all stored raw is "stored" (method 0). An entry with any deflated chunk is "deflated" (method 8):
/// it contains the stored bytes of such chunks, and frames everything else as DEFLATE stored blocks.
///
/// The same members in the same order must give the same bytes forever: a change to the written format needs a new `version`, and the old one must
/// still be served for the snapshots that were created with it.
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
