/// A file that is read by position.
public struct VideoSource {
    /// Of the whole file.
    public let byteCount: UInt64
    private let readBytes: (UInt64, Int) -> [UInt8]?

    /// - Parameter read: exactly as many bytes from a position; `nil` when the file has fewer.
    public init(byteCount: UInt64, read: @escaping (_ offset: UInt64, _ count: Int) -> [UInt8]?) {
        self.byteCount = byteCount
        readBytes = read
    }

    func read(at offset: UInt64, count: Int) throws(VideoError) -> [UInt8] {
        guard offset <= byteCount, UInt64(count) <= byteCount - offset, let bytes = readBytes(offset, count) else {
            throw .damaged
        }
        return bytes
    }
}

/// Why a video says nothing.
public enum VideoError: Error, Sendable {
    /// A box is longer than what it is in, or shorter than its header, or there are far too many.
    case damaged
}

/// One box of ISO 14496-12 (and atom of QuickTime): where its content is.
struct Box: Equatable {
    /// Four bytes; `©xyz` begins with 0xA9.
    let type: [UInt8]
    let content: Range<UInt64>

    func isOf(_ name: String) -> Bool { type == PhotoBox.type(name) }
}

enum PhotoBox {
    /// The four bytes of a name whose characters are all in Latin-1.
    static func type(_ name: String) -> [UInt8] { name.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}

/// Reads the boxes of a file one after the other. Strict: each lies within the one around it, and their number is bounded over
/// the whole file, so that no arrangement takes longer than reading a few thousand headers.
struct BoxReader {
    /// A long video in fragments has some thousands at its top.
    private static let boxLimit = 50_000

    let source: VideoSource
    private var boxCount = 0

    init(_ source: VideoSource) { self.source = source }

    /// All boxes in a range.
    /// - Parameters:
    ///   - isTop: whether the range is the file, whose last box may say that it goes to the end.
    ///   - visit: returns false to stop.
    mutating func forEach(
        in range: Range<UInt64>, isTop: Bool = false, _ visit: (Box) throws(VideoError) -> Bool
    ) throws(VideoError) {
        var position = range.lowerBound
        while position < range.upperBound {
            // QuickTime may end a list with four zero bytes, and programs pad it with more.
            let remaining = range.upperBound - position
            if !isTop, remaining >= 4, try source.read(at: position, count: 4) == [0, 0, 0, 0] { return }
            boxCount += 1
            guard boxCount <= Self.boxLimit, remaining >= 8 else { throw .damaged }
            let header = try source.read(at: position, count: 8)
            var headerByteCount: UInt64 = 8
            var length = Self.number(header[..<4])
            if length == 1 {
                guard remaining >= 16 else { throw .damaged }
                headerByteCount = 16
                length = Self.number(try source.read(at: position + 8, count: 8)[...])
            } else if length == 0, isTop {
                length = remaining
            }
            guard length >= headerByteCount, length <= remaining else { throw .damaged }
            let box = Box(type: Array(header[4...]), content: position + headerByteCount..<position + length)
            guard try visit(box) else { return }
            position += length
        }
    }

    /// The whole content of a box.
    /// - Parameter limit: more bytes are damage.
    func content(of box: Box, limit: Int) throws(VideoError) -> [UInt8] {
        guard box.content.upperBound - box.content.lowerBound <= UInt64(limit) else { throw .damaged }
        return try source.read(at: box.content.lowerBound, count: Int(box.content.upperBound - box.content.lowerBound))
    }

    /// The most significant byte first.
    static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// - Throws: when the bytes end before it.
    static func number(_ bytes: [UInt8], at offset: Int, _ count: Int) throws(VideoError) -> UInt64 {
        guard offset >= 0, offset + count <= bytes.count else { throw .damaged }
        return number(bytes[offset..<offset + count])
    }
}
