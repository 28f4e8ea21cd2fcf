/// What the header of a JPEG says of the picture. Nothing is decoded.
public struct JPEGHeader: Sendable, Equatable {
    /// Of the picture as it is stored.
    public let width: Int
    /// Of the picture as it is stored.
    public let height: Int
    /// 1 for grey, 3 for colour.
    public let componentCount: Int

    /// Reads the segments up to the start of the first scan.
    /// - Returns: `nil` for anything but a whole JPEG of 8 bits with one or three components, as thumbnails are.
    public init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]), bytes.suffix(2) == [0xFF, 0xD9] else { return nil }
        func number(_ place: Int) -> Int { Int(bytes[place]) << 8 | Int(bytes[place + 1]) }
        var place = 2
        var frame: (width: Int, height: Int, componentCount: Int)?
        while place + 4 <= bytes.count, bytes[place] == 0xFF {
            let marker = bytes[place + 1]
            // Any number of these may be in front of a marker.
            if marker == 0xFF {
                place += 1
                continue
            }
            let length = number(place + 2)
            guard length >= 2, place + 2 + length <= bytes.count else { return nil }
            switch marker {
            // Baseline, extended and progressive, with Huffman coding.
            case 0xC0, 0xC1, 0xC2:
                guard frame == nil, length >= 8, bytes[place + 4] == 8 else { return nil }
                frame = (number(place + 7), number(place + 5), Int(bytes[place + 9]))
            case 0xDA:
                guard let frame, frame.width > 0, frame.height > 0, [1, 3].contains(frame.componentCount) else { return nil }
                (width, height, componentCount) = frame
                return
            // Other codings, and markers that have no segment.
            case 0x00, 0x01, 0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF, 0xD0...0xD9: return nil
            default: break
            }
            place += 2 + length
        }
        return nil
    }
}
