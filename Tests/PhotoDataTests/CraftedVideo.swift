/// Builds files of ISO 14496-12 and QuickTime byte by byte, from the specifications alone.
enum CraftedVideo {
    static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(UInt32(8 + content.count)) + type.unicodeScalars.map { UInt8($0.value) } + content
    }

    static func number(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    /// 2024-05-06 07:08:09 UTC, counted from 1904.
    static let createdAt: UInt64 = 1_714_979_289 + 2_082_844_800

    static func movieHeader(isLong: Bool = false, created: UInt64 = createdAt, timescale: UInt32 = 600, duration: UInt64 = 900)
        -> [UInt8]
    {
        let times =
            isLong
            ? number(created) + number(created) + number(timescale) + number(duration)
            : number(UInt32(truncatingIfNeeded: created)) + number(UInt32(0)) + number(timescale) + number(UInt32(duration))
        return box("mvhd", [isLong ? 1 : 0, 0, 0, 0] + times + [UInt8](repeating: 0, count: 80))
    }

    static let straight: [Int32] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000]
    static let turned: [Int32] = [0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x4000_0000]

    static func track(
        handler: String = "vide", width: UInt32 = 1920, height: UInt32 = 1080, matrix: [Int32] = straight, isLong: Bool = false
    ) -> [UInt8] {
        let header =
            [isLong ? 1 : 0, 0, 0, 7] + [UInt8](repeating: 0, count: isLong ? 32 : 20) + [UInt8](repeating: 0, count: 16)
            + matrix.flatMap(number) + number(width << 16) + number(height << 16)
        let handlerBox = box("hdlr", [UInt8](repeating: 0, count: 8) + Array(handler.utf8) + [UInt8](repeating: 0, count: 13))
        return box("trak", box("tkhd", header) + box("mdia", handlerBox))
    }

    /// `meta` as QuickTime has it, or with the version of ISO.
    static func meta(_ values: [(String, String)], isFull: Bool = false) -> [UInt8] {
        let keys = values.flatMap { number(UInt32(8 + $0.0.utf8.count)) + Array("mdta".utf8) + Array($0.0.utf8) }
        let items = values.enumerated().flatMap { index, value in
            number(UInt32(8 + 16 + value.1.utf8.count)) + number(UInt32(index + 1))
                + box("data", number(UInt32(1)) + number(UInt32(0)) + Array(value.1.utf8))
        }
        let handler = box("hdlr", [UInt8](repeating: 0, count: 8) + Array("mdta".utf8) + [UInt8](repeating: 0, count: 13))
        return box(
            "meta",
            (isFull ? [0, 0, 0, 0] : []) + handler + box("keys", number(UInt32(0)) + number(UInt32(values.count)) + keys)
                + box("ilst", items))
    }

    static func userData(_ values: [(String, String)]) -> [UInt8] {
        box(
            "udta",
            values.flatMap { box($0.0, number(UInt16($0.1.utf8.count)) + number(UInt16(0x15C7)) + Array($0.1.utf8)) } + [
                0, 0, 0, 0,
            ])
    }

    static let fileType = box("ftyp", Array("qt  ".utf8) + number(UInt32(0)) + Array("qt  ".utf8))

    /// A video of an iPhone: its data comes first.
    static let iPhone =
        fileType + box("wide", []) + box("mdat", [UInt8](repeating: 7, count: 100))
        + box(
            "moov",
            movieHeader() + track(handler: "soun", width: 0, height: 0) + track(matrix: turned)
                + meta([
                    ("com.apple.quicktime.content.identifier", "4F5A8C1E-0000-4000-8000-1234567890AB"),
                    ("com.apple.quicktime.creationdate", "2024-05-06T09:08:09+0200"), ("com.apple.quicktime.make", "Apple"),
                    ("com.apple.quicktime.model", "iPhone 15"),
                    ("com.apple.quicktime.location.ISO6709", "+48.8584+002.2945+035.000/"),
                ]))
}
