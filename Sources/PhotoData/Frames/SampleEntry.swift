/// How the pictures of a track are coded: one of the descriptions in `stsd` (ISO 14496-12, 12.1.3).
struct SampleEntry {
    /// What decoders here know.
    enum Coding {
        /// With the content of `avcC`.
        case h264([UInt8])
        /// With the content of `hvcC`.
        case hevc([UInt8])
        case jpeg
    }

    /// The bytes before its boxes.
    private static let headerByteCount: UInt64 = 78
    /// Of the descriptions of a track.
    private static let countLimit: UInt64 = 64
    private static let boxCountLimit = 64
    private static let shapes = 1...65_535

    let coding: Coding
    /// As stored, in pixels.
    let width: Int
    let height: Int
    let pixelShape: ClipFrame.PixelShape
    /// The content of `colr` if it is of numbers: `nclx` or `nclc`.
    let colourNumbers: [UInt8]?

    /// - Parameters:
    ///   - number: from 1 on.
    ///   - box: `stsd`.
    /// - Returns: `nil` for a coding that no decoder here knows, and for one without what it needs.
    init?(_ number: UInt64, in box: Box, _ reader: inout BoxReader) throws(VideoError) {
        guard let entry = try Self.entry(number, in: box, &reader) else { return nil }
        guard UInt64(entry.content.count) >= Self.headerByteCount else { throw .damaged }
        let size = try reader.source.read(at: entry.content.lowerBound + 24, count: 4)
        (width, height) = (Int(BoxReader.number(size[..<2])), Int(BoxReader.number(size[2...])))
        guard width > 0, height > 0, width * height <= ClipLimits.pixels else { return nil }
        let boxes = Self.boxes(of: entry, &reader)
        func content(_ name: String) throws(VideoError) -> [UInt8]? {
            guard let box = boxes.first(where: { $0.isOf(name) }) else { return nil }
            return try reader.content(of: box, limit: ClipLimits.configurationBytes)
        }
        switch PhotoText.decoded(entry.type) {
        case "avc1", "avc3":
            guard let configuration = try content("avcC") else { return nil }
            coding = .h264(configuration)
        case "hvc1", "hev1":
            guard let configuration = try content("hvcC") else { return nil }
            coding = .hevc(configuration)
        case "jpeg", "mjpa", "mjpg", "MJPG", "dmb1": coding = .jpeg
        default: return nil
        }
        pixelShape = try content("pasp").flatMap(Self.shape) ?? .square
        // There can be a profile besides.
        var numbers: [UInt8]?
        for box in boxes where box.isOf("colr") && box.content.count <= 64 {
            let bytes = try reader.content(of: box, limit: 64)
            if ["nclx", "nclc"].contains(where: { bytes.starts(with: PhotoBox.type($0)) }), bytes.count >= 10 {
                numbers = numbers ?? bytes
            }
        }
        colourNumbers = numbers
    }

    private static func entry(_ number: UInt64, in box: Box, _ reader: inout BoxReader) throws(VideoError) -> Box? {
        guard number > 0, number <= countLimit, box.content.count >= 8 else { return nil }
        var position: UInt64 = 0
        var found: Box?
        // After a version and a count.
        try reader.forEach(in: box.content.lowerBound + 8..<box.content.upperBound) { entry throws(VideoError) in
            position += 1
            if position == number { found = entry }
            return found == nil
        }
        return found
    }

    /// Some programs leave a few bytes behind them, which are no box.
    private static func boxes(of entry: Box, _ reader: inout BoxReader) -> [Box] {
        var boxes: [Box] = []
        do throws(VideoError) {
            let start = entry.content.lowerBound + headerByteCount
            try reader.forEach(in: start..<entry.content.upperBound) { child throws(VideoError) in
                boxes.append(child)
                return boxes.count < boxCountLimit
            }
        } catch {}
        return boxes
    }

    private static func shape(_ bytes: [UInt8]) -> ClipFrame.PixelShape? {
        guard bytes.count >= 8 else { return nil }
        let (width, height) = (Int(BoxReader.number(bytes[..<4])), Int(BoxReader.number(bytes[4..<8])))
        guard shapes.contains(width), shapes.contains(height), width <= 4 * height, height <= 4 * width else { return nil }
        return ClipFrame.PixelShape(width: width, height: height)
    }

    /// What the box says comes before what the stream says.
    func colours(of sequence: H264Sequence?) -> VideoColours {
        var colours = VideoColours(matrix: sequence?.matrix, isFullRange: sequence?.isFullRange ?? false)
        guard let bytes = colourNumbers else { return colours }
        // After its kind, the primaries and the transfer. 2 is unknown.
        let matrix = Int(BoxReader.number(bytes[8..<10]))
        if matrix != 2 { colours.matrix = matrix }
        if bytes.count >= 11, bytes.starts(with: PhotoBox.type("nclx")) { colours.isFullRange = bytes[10] & 0x80 != 0 }
        return colours
    }
}
