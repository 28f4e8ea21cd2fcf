import BackupCore

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
