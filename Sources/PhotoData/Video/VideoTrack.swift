/// A track of pictures, as its headers describe it.
struct VideoTrack {
    /// Of `mvhd` and `tkhd`, whose lengths are fixed.
    static let headerLimitBytes = 256

    /// `mdia`.
    let media: Box
    /// The first, second, fourth and fifth of the nine numbers that turn it.
    private let matrix: [Int32]
    private let width: Int
    private let height: Int

    /// - Parameter track: `trak`.
    /// - Returns: `nil` for sound, texts, and whatever else is no track of pictures.
    init?(_ track: Box, _ reader: inout BoxReader) throws(VideoError) {
        var header: Box?
        var media: Box?
        try reader.forEach(in: track.content) { child throws(VideoError) in
            if child.isOf("tkhd") { header = header ?? child }
            if child.isOf("mdia") { media = media ?? child }
            return true
        }
        guard let header, let media else { return nil }
        var handler: Box?
        try reader.forEach(in: media.content) { child throws(VideoError) in
            if child.isOf("hdlr") { handler = handler ?? child }
            return true
        }
        // Its kind comes after a version and four zero bytes; the name after it can be long.
        guard let handler, handler.content.count >= 12,
            try reader.source.read(at: handler.content.lowerBound + 8, count: 4) == PhotoBox.type("vide")
        else { return nil }
        self.media = media
        let bytes = try reader.content(of: header, limit: Self.headerLimitBytes)
        let start = try Self.isLong(bytes) ? 52 : 40
        // 16 bits before the point and 16 after it.
        width = try Int(BoxReader.number(bytes, at: start + 36, 4) >> 16)
        height = try Int(BoxReader.number(bytes, at: start + 40, 4) >> 16)
        matrix = try [0, 4, 12, 16].map { offset throws(VideoError) in
            try Int32(truncatingIfNeeded: BoxReader.number(bytes, at: start + offset, 4))
        }
    }

    /// Version 1 has times of 64 bits.
    static func isLong(_ header: [UInt8]) throws(VideoError) -> Bool {
        switch header.first {
        case 0: false
        case 1: true
        default: throw .damaged
        }
    }

    /// In pixels, turned as its matrix says; `nil` for what no picture has.
    var shownSize: (width: Int, height: Int)? {
        guard PhotoLimits.pixels.contains(width), PhotoLimits.pixels.contains(height) else { return nil }
        // A quarter turn swaps the axes: the first and fifth of nine numbers are 0, the second and fourth are not.
        let isTurned = matrix[0] == 0 && matrix[3] == 0 && matrix[1] != 0 && matrix[2] != 0
        return isTurned ? (height, width) : (width, height)
    }

    /// How the stored picture is turned to be shown, as in Exif: 1 to 8. 1 as well for what is not turned by quarters.
    var orientation: Int {
        let signs = matrix.map { Int($0.signum()) }
        return Self.orientations[signs] ?? 1
    }

    /// By the signs of the numbers of the matrix.
    private static let orientations: [[Int]: Int] = [
        [1, 0, 0, 1]: 1, [-1, 0, 0, 1]: 2, [-1, 0, 0, -1]: 3, [1, 0, 0, -1]: 4, [0, 1, 1, 0]: 5, [0, 1, -1, 0]: 6,
        [0, -1, -1, 0]: 7, [0, -1, 1, 0]: 8,
    ]
}
