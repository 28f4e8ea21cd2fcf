import BackupCore
import SystemIO

/// A generated landscape: a sky, a sun and three rows of hills. Uses only integers and no compression, so that its bytes are the
/// same on every machine and with every version of zlib.
struct SampleImage {
    static let width = 192
    static let height = 128

    private typealias Colour = (red: Int, green: Int, blue: Int)

    private static let skies: [(top: Colour, bottom: Colour, sun: Colour, hill: Colour)] = [
        ((63, 124, 191), (207, 228, 240), (255, 244, 200), (66, 122, 79)),
        ((30, 36, 84), (226, 124, 92), (255, 196, 128), (58, 52, 84)),
        ((120, 170, 205), (248, 220, 190), (255, 255, 236), (126, 140, 92)),
        ((12, 18, 44), (46, 66, 112), (232, 236, 244), (20, 34, 46)),
    ]
    /// Pixels between two random points of a row of hills, which is straight between them.
    private static let hillStep = 24

    let png: [UInt8]

    init(seed: UInt64) {
        var generator = SampleGenerator(seed: seed)
        let sky = Self.skies[generator.number(below: Self.skies.count)]
        let sun = (x: 24 + generator.number(below: Self.width - 48), y: 18 + generator.number(below: 34))
        let radius = 8 + generator.number(below: 8)
        let hills = (0..<3).map { row in Self.hills(54 + row * 24, &generator) }
        var rows = ByteWriter()
        for y in 0..<Self.height {
            // Each row begins with its filter type: none.
            rows.append(UInt8(0))
            for x in 0..<Self.width {
                var colour = Self.between(sky.top, sky.bottom, y, Self.height)
                if (x - sun.x) * (x - sun.x) + (y - sun.y) * (y - sun.y) <= radius * radius { colour = sky.sun }
                for (row, hill) in hills.enumerated() where y >= hill[x] {
                    colour = Self.between(sky.bottom, sky.hill, row + 1, 3)
                }
                for part in [colour.red, colour.green, colour.blue] { rows.append(UInt8(part)) }
            }
        }
        png = Self.file(rows.bytes)
    }

    /// Their height at each column.
    private static func hills(_ middle: Int, _ generator: inout SampleGenerator) -> [Int] {
        let points = (0...width / hillStep).map { _ in middle - 16 + generator.number(below: 32) }
        return (0..<width).map { x in
            let (point, rest) = x.quotientAndRemainder(dividingBy: hillStep)
            return points[point] + (points[point + 1] - points[point]) * rest / hillStep
        }
    }

    private static func between(_ first: Colour, _ second: Colour, _ step: Int, _ count: Int) -> Colour {
        (
            first.red + (second.red - first.red) * step / count, first.green + (second.green - first.green) * step / count,
            first.blue + (second.blue - first.blue) * step / count
        )
    }

    // MARK: PNG (ISO/IEC 15948)

    private static func file(_ rows: [UInt8]) -> [UInt8] {
        var header = bigEndian(UInt32(width)) + bigEndian(UInt32(height))
        // Eight bits each for red, green and blue; the only defined compression and filter methods, and no interlacing.
        header += [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + chunk("IDAT", stored(rows))
            + chunk("IEND", [])
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        return bigEndian(UInt32(content.count)) + checked + bigEndian(CRC32.of(checked))
    }

    /// A zlib stream of stored blocks (RFC 1950, 1951).
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        while !rest.isEmpty {
            let block = rest.prefix(0xFFFF)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            var header = ByteWriter()
            header.append(UInt8(rest.isEmpty ? 1 : 0))
            header.append(length)
            header.append(~length)
            stream += header.bytes + block
        }
        return stream + bigEndian(adler32(bytes))
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - $0 * 8)) }
    }
}

/// A file of the sample data's media folder.
public struct SamplePhoto: Sendable {
    /// Below the media folder.
    public let path: String
    /// The time that its record has, in whole seconds.
    public let takenAt: Timestamp
    /// A PNG file.
    public let content: [UInt8]

    private init(_ path: String, _ takenAtSeconds: Int64) {
        self.path = path
        takenAt = Timestamp(seconds: takenAtSeconds)
        content = SampleImage(seed: UInt64(takenAtSeconds)).png
    }

    /// The photos of SmilePile, which has no subfolders.
    static var piles: [SamplePhoto] {
        [
            SamplePhoto("first_day.png", 1_736_845_200), SamplePhoto("бабушка.png", 1_740_300_300),
            SamplePhoto("harbour.png", 1_752_242_100), SamplePhoto("fox.png", 1_744_531_980),
            SamplePhoto("birthday cake.png", 1_749_303_000), SamplePhoto("été à la mer.png", 1_753_520_400),
            SamplePhoto("lighthouse.png", 1_753_878_600), SamplePhoto("two herons.png", 1_757_918_700),
        ]
    }

    /// The photos of the photo library: folders by year and event, and one photo that is in two of them.
    static var library: [SamplePhoto] {
        [
            SamplePhoto("2024/Winter/IMG_0001.png", 1_705_399_200), SamplePhoto("2024/Winter/IMG_0002.png", 1_705_402_800),
            SamplePhoto("2024/Алматы/вид с горы.png", 1_718_012_520), SamplePhoto("2024/Алматы/IMG_0107.png", 1_718_016_060),
            SamplePhoto("2025/Garden/IMG_0230.png", 1_746_361_800), SamplePhoto("2025/Garden/IMG_0231.png", 1_746_361_860),
            SamplePhoto("2025/Sea/IMG_0412.png", 1_753_520_400), SamplePhoto("2025/Sea/IMG_0413.png", 1_753_524_000),
            SamplePhoto("2025/Best of/IMG_0412.png", 1_753_520_400), SamplePhoto("unsorted.png", 1_767_945_600),
        ]
    }
}
