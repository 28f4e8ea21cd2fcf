import TestSupport
import Testing

@testable import BackupCore

/// Any byte range of a served file is the same part of the whole, however the file is laid out.
struct ExtentTableTests {
    /// A file's extents beside the bytes they stand for.
    private struct Layout {
        var table = ExtentTable()
        var whole: [UInt8] = []
        var plain: [ChunkID: [UInt8]] = [:]
        var stored: [ChunkID: [UInt8]] = [:]

        /// What the slices of a range say, read extent by extent.
        func bytes(in range: Range<UInt64>) throws -> [UInt8] {
            var bytes: [UInt8] = []
            for slice in table.slices(in: range) {
                let part = Int(slice.range.lowerBound)..<Int(slice.range.upperBound)
                switch slice.extent {
                case .literal(let literal): bytes += literal[part]
                case .plain(let chunk, let offset, let length):
                    #expect(slice.range.upperBound <= UInt64(length))
                    bytes += try #require(plain[chunk.id])[part.lowerBound + Int(offset)..<part.upperBound + Int(offset)]
                case .stored(let chunk): bytes += try #require(stored[chunk.id])[part]
                case .source(let source, let offset, let length):
                    #expect(slice.range.upperBound <= length)
                    var buffer = [UInt8](repeating: 0, count: part.count)
                    let count = try buffer.withUnsafeMutableBytes {
                        try source.read(at: offset + slice.range.lowerBound, into: $0)
                    }
                    #expect(count == part.count)
                    bytes += buffer
                }
            }
            return bytes
        }
    }

    private static func random(_ generator: inout some RandomNumberGenerator) throws -> Layout {
        var layout = Layout()
        for number in 0..<Int.random(in: 0...12, using: &generator) {
            let bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let id = ChunkID(try #require(SHA256Digest(bytes: [UInt8](repeating: UInt8(number), count: 32))))
            let front = [UInt8](repeating: 0xEE, count: Int.random(in: 0...5, using: &generator))
            let chunk = StoredChunk(
                id: id, pack: PackID(id.digest), packOffset: 7, storedLength: UInt32(bytes.count),
                plainLength: UInt32(front.count + bytes.count + 3), codec: .raw, plainCRC32: 0, storedCRC32: 0)
            switch Int.random(in: 0...3, using: &generator) {
            case 0: layout.table.append(Extent.literal(bytes))
            case 1:
                layout.plain[id] = front + bytes + [1, 2, 3]
                layout.table.append(Extent.plain(chunk, offset: UInt32(front.count), length: UInt32(bytes.count)))
            case 2:
                layout.stored[id] = bytes
                layout.table.append(Extent.stored(chunk))
            default:
                let source = MemorySource(front + bytes + [9])
                layout.table.append(Extent.source(source, offset: UInt64(front.count), length: UInt64(bytes.count)))
            }
            layout.whole += bytes
        }
        return layout
    }

    @Test func `every range of random layouts is that part of the whole`() throws {
        var generator = SeededGenerator(seed: 20_260_111)
        var rangeCount = 0
        for _ in 0..<60 {
            let layout = try Self.random(&generator)
            let size = layout.whole.count
            #expect(layout.table.size == UInt64(size))
            for start in 0...size {
                for end in stride(from: start, through: size, by: 3) {
                    let bytes = try layout.bytes(in: UInt64(start)..<UInt64(end))
                    #expect(bytes == Array(layout.whole[start..<end]))
                    rangeCount += 1
                }
            }
        }
        #expect(rangeCount > 10_000)
    }

    /// Thousands of extents: chunks that come again and again, as they are stored and as parts of their plain bytes, sources in
    /// turns, and literals of every length.
    private static func large(_ generator: inout some RandomNumberGenerator, extents count: Int) throws -> Layout {
        func bytes(_ counts: ClosedRange<Int>) -> [UInt8] {
            (0..<Int.random(in: counts, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        var layout = Layout()
        let chunks = try (0..<300).map { number in
            let id = ChunkID(
                try #require(SHA256Digest(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) })))
            layout.stored[id] = bytes(1...300)
            layout.plain[id] = bytes(1...900)
            return StoredChunk(
                id: id, pack: PackID(id.digest), packOffset: UInt64(number) << 31,
                storedLength: UInt32(layout.stored[id]?.count ?? 0),
                plainLength: UInt32(layout.plain[id]?.count ?? 0), codec: .deflate, plainCRC32: 1, storedCRC32: 2,
                base: number % 3 == 0 ? id : nil)
        }
        let contents = (0..<4).map { _ in bytes(1000...1000) }
        let sources = contents.map { MemorySource($0) }
        for _ in 0..<count {
            let chunk = chunks[Int.random(in: 0..<chunks.count, using: &generator)]
            switch Int.random(in: 0...9, using: &generator) {
            case 0...2:
                let literal = bytes(0...40)
                layout.table.append(Extent.literal(literal))
                layout.whole += literal
            case 3 where Int.random(in: 0..<20, using: &generator) == 0:
                let literal = bytes(4090...4110)
                layout.table.append(Extent.literal(literal))
                layout.whole += literal
            case 4...6:
                layout.table.append(Extent.stored(chunk))
                layout.whole += layout.stored[chunk.id] ?? []
            case 7...8:
                let plain = try #require(layout.plain[chunk.id])
                let start = Int.random(in: 0..<plain.count, using: &generator)
                let length = Int.random(in: 0...plain.count - start, using: &generator)
                layout.table.append(Extent.plain(chunk, offset: UInt32(start), length: UInt32(length)))
                layout.whole += plain[start..<start + length]
            default:
                let number = Int.random(in: 0..<sources.count, using: &generator)
                let start = Int.random(in: 0...900, using: &generator)
                layout.table.append(Extent.source(sources[number], offset: UInt64(start), length: 100))
                layout.whole += contents[number][start..<start + 100]
            }
        }
        return layout
    }

    @Test(arguments: Rounds.part(of: [1, 2, 3], oneIn: 3))
    func `every range of tables of thousands of extents is that part of the whole`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let layout = try Self.large(&generator, extents: 6000)
        let size = layout.whole.count
        #expect(layout.table.count > 4000 && layout.table.size == UInt64(size))
        for _ in 0..<3000 {
            let start = Int.random(in: 0...size, using: &generator)
            let lengths = [0, 1, 2, 4096, 10_000, Int.random(in: 0...50_000, using: &generator)]
            let end = min(size, start + (lengths.randomElement(using: &generator) ?? 0))
            let bytes = try layout.bytes(in: UInt64(start)..<UInt64(end))
            #expect(haveSameBytes(bytes[...], layout.whole[start..<end]), "\(start)..<\(end)")
        }
        #expect(haveSameBytes(try layout.bytes(in: 0..<UInt64.max)[...], layout.whole[...]))
        // Neighbouring ranges meet without a gap at every border of two extents.
        var border = 0
        for extent in layout.table.extents {
            border += Int(extent.length)
            let around = UInt64(max(0, border - 2))..<UInt64(border + 2)
            #expect(try layout.bytes(in: around) == Array(layout.whole[max(0, border - 2)..<min(size, border + 2)]))
        }
        #expect(border == size)
    }

    @Test func `ranges that reach beyond the end give what is there`() throws {
        let table = ExtentTable(literal: [1, 2, 3])
        #expect(table.slices(in: 0..<UInt64.max).map(\.range) == [0..<3])
        // Of a literal only the part that was asked for.
        let slices = table.slices(in: 2..<100)
        #expect(slices.map(\.range) == [0..<1] && slices.map(\.extent.length) == [1])
        #expect(table.slices(in: 3..<100).isEmpty)
        #expect(table.slices(in: 100..<200).isEmpty)
        #expect(table.slices(in: 1..<1).isEmpty)
        #expect(ExtentTable().slices(in: 0..<10).isEmpty)
        #expect(ExtentTable().size == 0)
    }

    @Test func `empty extents are dropped, so that every offset belongs to one extent`() {
        var table = ExtentTable()
        table.append(Extent.literal([]))
        table.append(ContentPiece.literal([5]))
        table.append(Extent.literal([]))
        table.append(ContentPiece.source(MemorySource([]), offset: 0, length: 0))
        table.append(ContentPiece.literal([6]))
        #expect(table.extents.count == 2)
        #expect(table.size == 2)
        #expect(table.slices(in: 1..<2).count == 1)
    }

    @Test func `offsets beyond four gigabytes are found`() {
        let source = MemorySource([])
        var table = ExtentTable()
        for _ in 0..<3 { table.append(Extent.source(source, offset: 1 << 40, length: 5_000_000_000)) }
        #expect(table.size == 15_000_000_000)
        let slices = table.slices(in: 9_999_999_999..<10_000_000_001)
        #expect(slices.map(\.range) == [4_999_999_999..<5_000_000_000, 0..<1])
    }

    @Test func `long and short literals, chunks in several packs and with bases come out as they went in`() throws {
        func digest(_ number: Int) throws -> SHA256Digest {
            try #require(SHA256Digest(bytes: [UInt8](repeating: UInt8(number), count: 32)))
        }
        let chunks = try (0..<40).map { number in
            StoredChunk(
                id: ChunkID(try digest(number / 2)), pack: PackID(try digest(number / 7)), packOffset: UInt64(number) << 33,
                storedLength: UInt32(number + 1), plainLength: UInt32(number + 500), codec: number % 3 == 0 ? .deflate : .raw,
                plainCRC32: UInt32(number) &* 77, storedCRC32: .max - UInt32(number),
                base: number % 5 == 0 ? ChunkID(try digest(100 + number)) : nil)
        }
        var table = ExtentTable()
        for (number, chunk) in chunks.enumerated() {
            table.append(Extent.literal([UInt8](repeating: UInt8(number), count: number % 4 == 0 ? 4096 + number : 1 + number)))
            table.append(number % 2 == 0 ? Extent.stored(chunk) : Extent.plain(chunk, offset: 100, length: 300))
        }
        #expect(table.count == 80)
        for (number, extent) in table.extents.enumerated() {
            switch extent {
            case .literal(let bytes): #expect(bytes.allSatisfy { $0 == UInt8(number / 2) })
            case .stored(let chunk): #expect(chunk == chunks[number / 2])
            case .plain(let chunk, let offset, let length):
                #expect(chunk == chunks[number / 2] && offset == 100 && length == 300)
            case .source: Issue.record("there is no source")
            }
        }
    }

    @Test func `pieces are laid out plainly`() throws {
        let id = ChunkID(try #require(SHA256Digest(bytes: [UInt8](repeating: 4, count: 32))))
        let chunk = StoredChunk(
            id: id, pack: PackID(id.digest), packOffset: 0, storedLength: 10, plainLength: 100, codec: .deflate, plainCRC32: 0,
            storedCRC32: 0)
        let table = ExtentTable(plainContent: [
            .literal([1]), .chunk(chunk), .source(MemorySource([7, 8]), offset: 1, length: 1),
        ])
        #expect(table.size == 102)
        #expect(table.extents.map(\.length) == [1, 100, 1])
        #expect(Extent.stored(chunk).length == 10)
        #expect(ContentPiece.chunk(chunk).length == 100)
    }
}
