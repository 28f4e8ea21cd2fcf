import SystemIO

/// A small picture as a PNG file (ISO/IEC 15948): what the helper has made of a thumbnail, checked.
///
/// Only what makes the picture is kept of the file. What else may be in a PNG, such as texts and profiles, is left out: the
/// helper is not trusted.
public struct PNGPicture: Sendable, Equatable {
    /// In pixels.
    public let width: Int
    /// In pixels.
    public let height: Int
    private let header: [UInt8]
    /// The chunks of the picture's data, and the last chunk.
    private let rest: [UInt8]

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// - Returns: `nil` for anything but a PNG with valid checksums, 8 bits for each channel (grey, or red, green and blue), and
    ///   at most `sidePixels` pixels wide and high.
    public init?(_ bytes: [UInt8], sidePixels: Int) {
        guard bytes.starts(with: Self.signature) else { return nil }
        var offset = Self.signature.count
        var (header, data): ([UInt8]?, [UInt8]) = (nil, [])
        while let chunk = Chunk(in: bytes, at: offset), chunk.isSound {
            offset = chunk.end
            switch chunk.type {
            case "IHDR":
                guard header == nil, data.isEmpty else { return nil }
                header = Array(bytes[chunk.content])
            case "IDAT":
                guard header != nil else { return nil }
                data += bytes[chunk.start..<chunk.end]
            case "IEND":
                guard let header, header.count == 13, !data.isEmpty, chunk.content.isEmpty, offset == bytes.count else {
                    return nil
                }
                // Depth, colour type, and the only methods that are defined, without interlacing.
                guard header[8] == 8, header[9] == 0 || header[9] == 2, header[10...].allSatisfy({ $0 == 0 }) else { return nil }
                (width, height) = (Self.number(header[0..<4]), Self.number(header[4..<8]))
                guard (1...sidePixels).contains(width), (1...sidePixels).contains(height) else { return nil }
                self.header = Chunk.bytes("IHDR", header)
                rest = data + Chunk.bytes("IEND", [])
                return
            default:
                // A capital letter says that the picture cannot be shown without the chunk.
                guard chunk.type.utf8.first.map({ $0 & 0x20 != 0 }) == true else { return nil }
            }
        }
        return nil
    }

    /// The file, with texts in front of the picture's data.
    /// - Parameter texts: in ASCII; the keywords have at most 79 characters.
    public func bytes(texts: [(keyword: String, text: String)] = []) -> [UInt8] {
        let chunks = texts.flatMap { Chunk.bytes("tEXt", Array($0.keyword.utf8) + [0] + Array($0.text.utf8)) }
        return Self.signature + header + chunks + rest
    }

    /// The texts that a PNG file has in front of the picture's data.
    /// - Parameter bytes: the beginning of the file.
    /// - Returns: `nil` when that is no PNG, is damaged, or ends before the data.
    public static func texts(in bytes: [UInt8]) -> [(keyword: String, text: String)]? {
        guard bytes.starts(with: signature) else { return nil }
        var texts: [(keyword: String, text: String)] = []
        var offset = signature.count
        // The data itself need not be there.
        while !(offset + 8 <= bytes.count && bytes[(offset + 4)..<(offset + 8)].elementsEqual("IDAT".utf8)) {
            guard let chunk = Chunk(in: bytes, at: offset), chunk.isSound, chunk.type != "IEND" else { return nil }
            offset = chunk.end
            guard chunk.type == "tEXt", let zero = bytes[chunk.content].firstIndex(of: 0) else { continue }
            texts.append(
                (
                    String(decoding: bytes[chunk.content.lowerBound..<zero], as: UTF8.self),
                    String(decoding: bytes[(zero + 1)..<chunk.content.upperBound], as: UTF8.self)
                ))
        }
        return texts
    }

    /// The last chunk of each PNG file, as it ends there.
    public static let endBytes = Chunk.bytes("IEND", [])

    fileprivate static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}

/// A part of a PNG file: a length, four letters, the content and a CRC-32 of letters and content.
private struct Chunk {
    private static let overheadBytes = 12

    let type: String
    let start: Int
    let content: Range<Int>
    let end: Int
    let isSound: Bool

    /// - Returns: `nil` when the bytes end before the chunk does.
    init?(in bytes: [UInt8], at offset: Int) {
        guard bytes.count - offset >= Self.overheadBytes else { return nil }
        let count = PNGPicture.number(bytes[offset..<(offset + 4)])
        guard count <= bytes.count - offset - Self.overheadBytes else { return nil }
        type = String(decoding: bytes[(offset + 4)..<(offset + 8)], as: UTF8.self)
        start = offset
        content = (offset + 8)..<(offset + 8 + count)
        end = content.upperBound + 4
        let sum = PNGPicture.number(bytes[content.upperBound..<end])
        isSound = Int(CRC32.of(Array(bytes[(offset + 4)..<content.upperBound]))) == sum
    }

    static func bytes(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        return bigEndian(UInt32(content.count)) + checked + bigEndian(CRC32.of(checked))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
