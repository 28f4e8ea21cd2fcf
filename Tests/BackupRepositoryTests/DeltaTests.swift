import BackupCore
import SystemIO
import TestSupport
import Testing

@testable import BackupRepository

/// Chunks as their beginning, middle and end (`ChunkDelta`): every edit comes back, and nothing else than a whole delta is read.
struct DeltaTests {
    private static func encode(_ plain: [UInt8], base: [UInt8]) -> [UInt8] {
        var deflater = StreamDeflater(level: 9)
        // What was there before must not show.
        var output: [UInt8] = [9, 9, 9]
        plain.withUnsafeBytes { plain in
            base.withUnsafeBytes { ChunkDelta.encode(plain, base: $0, &deflater, into: &output) }
        }
        return output
    }

    /// - Returns: `nil` when the delta is refused.
    private static func expand(_ stored: [UInt8], base: [UInt8], count: Int) -> [UInt8]? {
        var expander = ChunkExpander()
        return expander.expand(stored, .middleAgainstBase, plainLength: count, base: base)
    }

    private static func ends(_ stored: [UInt8]) -> (start: Int, end: Int) {
        (Int(stored[0]) + Int(stored[1]) << 8, Int(stored[2]) + Int(stored[3]) << 8)
    }

    /// Bytes that have something in common, as rows have, or nothing.
    private static func bytes(_ count: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: generator.noise(count)
        case 1: Array(TestData.rows(count / 40 + 1, seed: generator.next() | 1).prefix(count))
        default: [UInt8](repeating: UInt8(truncatingIfNeeded: generator.next() % 3), count: count)
        }
    }

    private static func edit(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var result = bytes
        for _ in 0..<Int.random(in: 0..<5, using: &generator) {
            let place = Int.random(in: 0...result.count, using: &generator)
            let end = min(result.count, place + Int.random(in: 0..<200, using: &generator))
            let text = Self.bytes(Int.random(in: 0..<100, using: &generator), &generator)
            result.replaceSubrange(place..<end, with: text)
        }
        return result.isEmpty ? [1] : result
    }

    @Test func `every edit comes back, and what both have in common costs nothing`() {
        var generator = SeededGenerator(seed: 68)
        for round in 0..<600 {
            let limit = [3, 300, 20_000, 90_000][round % 4]
            let base = Self.bytes(Int.random(in: 1..<limit, using: &generator), &generator)
            let plain = round % 50 == 7 ? Self.bytes(limit, &generator) : Self.edit(base, &generator)
            let stored = Self.encode(plain, base: base)
            #expect(Self.expand(stored, base: base, count: plain.count) == plain, "round \(round)")
            let (start, end) = Self.ends(stored)
            let both = min(plain.count, base.count)
            let common = zip(plain, base).prefix { $0 == $1 }.count
            #expect(start == min(common, 65_535))
            let commonEnd = zip(plain.reversed(), base.reversed()).prefix { $0 == $1 }.count
            #expect(end == min(commonEnd, both - start, 65_535))
            // Stored blocks of DEFLATE are the most that a middle can take.
            #expect(stored.count <= 4 + (plain.count - start - end) * 1_001 / 1_000 + 20)
        }
    }

    @Test func `one changed byte takes eight bytes at most, wherever it is`() {
        let base = TestData.rows(200, seed: 5).prefix(8_192)
        for place in [0, 1, 7, 8, 9, 4_000, 8_190, 8_191] {
            var plain = Array(base)
            plain[place] ^= 0x40
            let stored = Self.encode(plain, base: Array(base))
            #expect(stored.count <= 8)
            #expect(Self.ends(stored) == (place, 8_191 - place))
            #expect(Self.expand(stored, base: Array(base), count: plain.count) == plain)
        }
    }

    @Test func `a chunk without a middle is its two lengths`() {
        let base = Array("abcabcabc".utf8)
        #expect(Self.encode(base, base: base) == [9, 0, 0, 0])
        #expect(Self.encode(Array("abcabc".utf8), base: base) == [6, 0, 0, 0])
        #expect(Self.encode(Array("bc".utf8), base: base) == [0, 0, 2, 0])
        #expect(Self.expand([3, 0, 3, 0], base: base, count: 6) == Array("abcabc".utf8))
        // Nothing may follow, and nothing may be missing.
        #expect(Self.expand([3, 0, 3, 0, 3, 0], base: base, count: 6) == nil)
        #expect(Self.expand([3, 0, 3, 0], base: base, count: 7) == nil)
    }

    /// The example of Docs/reference/repository-format.md.
    @Test func `the middle is one stream of DEFLATE, against the middle of the base`() {
        let (base, plain) = (Array("the first row, the second row".utf8), Array("the first row, no second row".utf8))
        let stored = Self.encode(plain, base: base)
        #expect(Hexadecimal.encode(stored) == "0f000b00cbcb0700")
        #expect(Self.expand(stored, base: base, count: plain.count) == plain)
    }

    // MARK: - Hostile bytes

    @Test func `lengths beyond the base or the chunk are refused`() {
        let base = [UInt8](repeating: 7, count: 100)
        for (start, end) in [(101, 0), (0, 101), (60, 41), (51, 50), (65_535, 65_535), (255, 0), (0, 256)] {
            let header = [start, start >> 8, end, end >> 8].map { UInt8(truncatingIfNeeded: $0) }
            #expect(Self.expand(header, base: base, count: 100) == nil, "\(start) \(end)")
            #expect(Self.expand(header + [3, 0], base: base, count: 100) == nil, "\(start) \(end)")
        }
        // 60 and 40 are in the base, but not in a chunk of 99 bytes.
        #expect(Self.expand([60, 0, 40, 0], base: base, count: 100) == base)
        #expect(Self.expand([60, 0, 40, 0], base: base, count: 99) == nil)
        #expect(Self.expand([60, 0, 40, 0], base: Array(base.dropLast()), count: 100) == nil)
        #expect(Self.expand([0, 0, 0, 0], base: [], count: 1) == nil)
    }

    @Test func `no truncation, no trailing byte and no other length is accepted`() {
        let base = TestData.rows(100, seed: 3)
        var plain = base
        plain.replaceSubrange(1_000..<1_400, with: TestData.random(300, seed: 4))
        let stored = Self.encode(plain, base: base)
        for count in 0..<stored.count {
            #expect(Self.expand(Array(stored[..<count]), base: base, count: plain.count) == nil, "\(count)")
        }
        for byte: UInt8 in [0, 1, 3, 4, 0xFF] {
            #expect(Self.expand(stored + [byte], base: base, count: plain.count) == nil)
        }
        for count in [plain.count - 1, plain.count + 1, 1, 100_000] {
            #expect(Self.expand(stored, base: base, count: count) == nil, "\(count)")
        }
        // A segment as older deltas have them, without a final block.
        var deflater = Deflater(level: 6)
        var segment: [UInt8] = []
        plain.withUnsafeBytes { deflater.compress($0, into: &segment) }
        #expect(Self.expand([0, 0, 0, 0] + segment, base: base, count: plain.count) == nil)
        #expect(Self.expand([0, 0, 0, 0] + segment + [3, 0], base: base, count: plain.count) == plain)
    }

    @Test func `no flipped bit goes unnoticed or further than the chunk`() {
        let base = TestData.rows(60, seed: 13)
        var plain = base
        plain.replaceSubrange(500..<700, with: Array("another text, another text, and one more".utf8))
        let (stored, crc32) = (Self.encode(plain, base: base), CRC32.of(plain))
        for index in stored.indices {
            for bit in 0..<8 {
                var damaged = stored
                damaged[index] ^= 1 << UInt8(bit)
                guard let output = Self.expand(damaged, base: base, count: plain.count) else { continue }
                #expect(output == plain || CRC32.of(output) != crc32)
            }
        }
    }

    /// A million zeros in a thousand bytes: no more than the chunk's length is ever made.
    @Test func `a stream that gives more than the chunk is refused`() {
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        let stored = Self.encode(zeros, base: [1])
        #expect(stored.count < 2_000)
        #expect(Self.expand(stored, base: [1], count: 1 << 20) == zeros)
        for count in [1, 1_000, 1 << 20 - 1] { #expect(Self.expand(stored, base: [1], count: count) == nil) }
    }

    @Test func `one expander reads every form, one after the other`() {
        var expander = ChunkExpander()
        let base = TestData.rows(700, seed: 8)
        var (plain, old, segment) = (base, [UInt8](), [UInt8]())
        plain[20_000] = 0
        var deflater = Deflater(level: 6)
        var segmentDeflater = SegmentDeflater()
        plain.withUnsafeBytes { plain in
            base.suffix(ChunkEncoder.dictionaryByteCount).withUnsafeBytes {
                deflater.compress(plain, dictionary: $0, into: &old)
            }
            segmentDeflater.compress(plain, into: &segment)
        }
        let forms: [(ChunkCodec, [UInt8])] = [
            (.middleAgainstBase, Self.encode(plain, base: base)), (.deflateAgainstBase, old), (.deflate, segment), (.raw, plain),
        ]
        for _ in 0..<2 {
            for (codec, stored) in forms {
                let expanded = expander.expand(
                    stored, codec, plainLength: plain.count, base: codec.needsBase ? base : [])
                #expect(expanded == plain, "\(codec)")
                let cut = expander.expand(
                    Array(stored.dropLast(12)), codec, plainLength: plain.count, base: codec.needsBase ? base : [])
                #expect(cut == nil, "\(codec)")
            }
        }
    }
}
