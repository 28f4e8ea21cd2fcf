import BackupCore
import TestSupport
import Testing

@testable import SystemIO

/// Segments as chunks are stored: raw DEFLATE, byte-aligned, without a final block.
struct DeflateTests {
    /// - Parameter level: zlib's; 0 is igzip, which takes no dictionary.
    private static func segment(_ bytes: [UInt8], level: Int32 = 6, dictionary: [UInt8] = []) -> [UInt8] {
        var output: [UInt8] = []
        if level == 0 {
            var deflater = SegmentDeflater()
            // What an earlier segment left must not show.
            bytes.reversed().withUnsafeBytes { deflater.compress($0, into: &output) }
            bytes.withUnsafeBytes { deflater.compress($0, into: &output) }
            return output
        }
        var deflater = Deflater(level: level)
        bytes.withUnsafeBytes { input in
            dictionary.withUnsafeBytes { deflater.compress(input, dictionary: $0, into: &output) }
        }
        return output
    }

    /// - Returns: `nil` when the segment is refused.
    private static func expand(_ segment: [UInt8], count: Int, dictionary: [UInt8] = []) -> [UInt8]? {
        var inflater = SegmentInflater()
        var output = [UInt8](repeating: 0xAA, count: count)
        let isGood = segment.withUnsafeBytes { input in
            dictionary.withUnsafeBytes { base in
                output.withUnsafeMutableBytes { inflater.expand(input, dictionary: base, into: $0) }
            }
        }
        return isGood ? output : nil
    }

    private static let text = Array(String(repeating: "an expense of 45.5 kWh, 12.50 EUR; ", count: 300).utf8)

    @Test(arguments: [0, 1, 6, 9])
    func `segments one after the other are one stream for anybody`(level: Int32) throws {
        let folder = try TemporaryFolder()
        var stream: [UInt8] = []
        var plain: [UInt8] = []
        for part in [Self.text, [1], scrambled(70_000), [UInt8](repeating: 0, count: 100_000), scrambled(3)] {
            let segment = Self.segment(part, level: level)
            // A full flush: an empty stored block, and the next segment starts on a byte.
            #expect(segment.suffix(4) == [0, 0, 0xFF, 0xFF])
            stream += segment
            plain += part
        }
        try writeFile(folder("open"), stream)
        try writeFile(folder("closed"), stream + [3, 0])
        try writeFile(folder("plain"), plain)
        let script = """
            import sys, zlib
            folder = sys.argv[1]
            plain = open(folder + "/plain", "rb").read()
            for name, ends in (("open", False), ("closed", True)):
                d = zlib.decompressobj(-15)
                out = d.decompress(open(folder + "/" + name, "rb").read())
                assert out == plain and d.eof == ends and d.unused_data == b"", (name, d.eof, len(out))
            print("fine")
            """
        let result = try shell("python3 -c \"$1\" \"$2\"", script, folder.path)
        #expect(result.output == "fine\n")
    }

    @Test(arguments: [0, 1, 6]) func `segments come back, each on its own`(level: Int32) {
        for bytes in [Self.text, [0], scrambled(65_536), [UInt8](repeating: 7, count: 1 << 20)] {
            let segment = Self.segment(bytes, level: level)
            #expect(Self.expand(segment, count: bytes.count) == bytes)
            #expect(Self.expand(segment, count: bytes.count - 1) == nil)
            #expect(Self.expand(segment, count: bytes.count + 1) == nil)
        }
    }

    @Test func `a segment with a dictionary needs exactly that dictionary`() {
        let base = scrambled(32_768)
        let bytes = Array(base[1000..<9000]) + [1, 2, 3]
        let segment = Self.segment(bytes, dictionary: base)
        #expect(segment.count < 200)
        #expect(Self.expand(segment, count: bytes.count, dictionary: base) == bytes)
        #expect(Self.expand(segment, count: bytes.count) == nil)
        #expect(Self.expand(segment, count: bytes.count, dictionary: Array(base.reversed())) != bytes)
    }

    @Test(arguments: [0, 6]) func `every truncation of a segment is refused`(level: Int32) {
        let bytes = Array(Self.text.prefix(500))
        let segment = Self.segment(bytes, level: level)
        // What is missing of the flush marker alone takes nothing from the content.
        for count in 0..<(segment.count - 5) {
            #expect(Self.expand(Array(segment[..<count]), count: bytes.count) == nil, "\(count)")
        }
        // A block of the type that does not exist.
        #expect(Self.expand(segment + [0x07], count: bytes.count) == nil)
        #expect(Self.expand(segment + segment, count: bytes.count) == nil)
    }

    /// DEFLATE has no checksum of its own: a flipped literal is a valid stream of other content. Then the CRC-32 differs, which
    /// every reader of chunks compares.
    @Test(arguments: [0, 6]) func `no flipped bit goes unnoticed`(level: Int32) {
        let bytes = Array(Self.text.prefix(400)) + scrambled(100)
        let crc32 = CRC32.of(bytes)
        let segment = Self.segment(bytes, level: level)
        var refusedCount = 0
        for index in segment.indices {
            for bit in 0..<8 {
                var damaged = segment
                damaged[index] ^= 1 << UInt8(bit)
                guard let output = Self.expand(damaged, count: bytes.count) else {
                    refusedCount += 1
                    continue
                }
                #expect(output == bytes || CRC32.of(output) != crc32)
            }
        }
        #expect(refusedCount > segment.count)
    }

    @Test func `a stream is expanded piece by piece`() throws {
        let plain = scrambled(10_000) + Self.text
        let stream = Self.segment(plain) + [3, 0]
        var inflater = Inflater()
        var output: [UInt8] = []
        var position = 0
        var isFinished = false
        while !isFinished {
            var buffer = [UInt8](repeating: 0, count: 77)
            let end = min(stream.count, position + 50)
            let step = Array(stream[position..<end]).withUnsafeBytes { input in
                buffer.withUnsafeMutableBytes { inflater.step(input: input, output: $0) }
            }
            let made = try #require(step)
            output += buffer[..<made.outputCount]
            position += made.inputCount
            isFinished = made.isFinished
        }
        #expect(output == plain)
        #expect(position == stream.count)
    }
}
