import BackupCore
import Formats
import TestSupport
import Testing

@Suite("ZIP layout: bytes and arithmetic")
struct ZIPLayoutTests {
    private let shelf = ChunkShelf()

    @Test("one small stored file, every byte")
    func literalBytes() throws {
        // 2026-01-11T14:30:00Z; CRC-32 of "hello\n" as `gzip -lv` and Python's zlib print it.
        let member = ArchiveMember(
            path: Array("a.txt".utf8), mode: 0o100644, modificationTime: Timestamp(seconds: 1_768_141_800), size: 6,
            crc32: 0x363A_3020, content: [.literal(Array("hello\n".utf8))])
        let bytes = try shelf.materialize(ZIPLayout.table(for: [member]))
        let expected =
            "504b0304" + "1400" + "0000" + "0000" + "c073" + "2b5c" + "20303a36" + "06000000" + "06000000" + "0500" + "0900"
            + "612e747874" + "5554" + "0500" + "01" + "e8b36369"
            + "68656c6c6f0a"
            + "504b0102" + "1e03" + "1400" + "0000" + "0000" + "c073" + "2b5c" + "20303a36" + "06000000" + "06000000"
            + "0500" + "0900" + "0000" + "0000" + "0000" + "0000a481" + "00000000"
            + "612e747874" + "5554" + "0500" + "01" + "e8b36369"
            + "504b0506" + "0000" + "0000" + "0100" + "0100" + "3c000000" + "32000000" + "0000"
        #expect(Hexadecimal.encode(bytes) == expected)
    }

    @Test("no members: an end record alone")
    func empty() throws {
        let bytes = try shelf.materialize(ZIPLayout.table(for: []))
        #expect(Hexadecimal.encode(bytes) == "504b0506" + String(repeating: "00", count: 18))
        #expect(try ZIPLayout.archivedSize(of: []) == 22)
    }

    @Test("a deflated chunk lies in the entry as it is stored; what is between is framed as stored blocks")
    func mixedFraming() throws {
        let deflated = shelf.store(sampleText(5_000), .deflate)
        let based = shelf.store(sampleText(70_000), .deflateAgainstBase)
        let member = try shelf.member("mixed", [.literal([91]), .chunk(deflated), .chunk(based)])
        let table = try ZIPLayout.table(for: [member])
        var kinds: [String] = []
        for extent in table.extents {
            switch extent {
            case .literal(let bytes): kinds.append("literal \(bytes.count)")
            case .plain(_, let offset, let length): kinds.append("plain \(offset) \(length)")
            case .stored(let chunk): kinds.append("stored \(chunk.plainLength)")
            case .source: kinds.append("source")
            }
        }
        // 30 + 5 + 9 bytes of local header, a block header and one byte; then 5 for each block; at last 03 00.
        let headers = ["literal 50", "stored 5000", "literal 5", "plain 0 65535", "literal 5", "plain 65535 4465", "literal 2"]
        #expect(kinds.dropLast() == headers[...])
        #expect(kinds.last == "literal \(46 + 5 + 9 + 22)")
        #expect(try ZIPLayout.archivedSize(of: [member]) == table.size)
    }

    @Test("raw chunks, literals and sources alone are stored entries")
    func storedWhenNothingIsDeflated() throws {
        let raw = shelf.store([1, 2, 3], .raw)
        let source = MemorySource([9, 8, 7, 6])
        let member = try shelf.member("x", [.chunk(raw), .literal([4]), .source(source, offset: 1, length: 2)])
        let bytes = try shelf.materialize(ZIPLayout.table(for: [member]))
        #expect(bytes[8...9] == [0, 0])
        #expect(bytes[40..<46] == [1, 2, 3, 4, 8, 7])
    }

    @Test("times outside the old clock are clamped and have no extended timestamp")
    func times() throws {
        func clock(_ seconds: Int64) throws -> ([UInt8], extraLength: UInt8) {
            let member = try shelf.member("t", time: seconds)
            let bytes = try shelf.materialize(ZIPLayout.table(for: [member]))
            return (Array(bytes[10..<14]), bytes[28])
        }
        #expect(try clock(-1) == ([0, 0, 0x21, 0], 0))
        #expect(try clock(0) == ([0, 0, 0x21, 0], 9))
        // 2107-12-31T23:59:59Z is the last moment, in steps of two seconds.
        #expect(try clock(4_354_819_199) == ([0x7D, 0xBF, 0x9F, 0xFF], 0))
        #expect(try clock(9_999_999_999) == ([0x7D, 0xBF, 0x9F, 0xFF], 0))
        #expect(try clock(Int64.max) == ([0x7D, 0xBF, 0x9F, 0xFF], 0))
        #expect(try clock(Int64.min) == ([0, 0, 0x21, 0], 0))
    }

    @Test("members that cannot be archived are refused")
    func refusals() throws {
        let lying = ArchiveMember(
            path: [97], mode: 0o100644, modificationTime: Timestamp(seconds: 0), size: 5, crc32: 0, content: [.literal([1])])
        #expect(throws: BackupError.self) { try ZIPLayout.table(for: [lying]) }
        #expect(throws: BackupError.self) { try ZIPLayout.archivedSize(of: [lying]) }
        #expect(throws: BackupError.self) { try ZIPLayout.table(for: [shelf.member("folder/", [.literal([1])])]) }
        #expect(throws: BackupError.self) { try ZIPLayout.table(for: [shelf.member("")]) }
        let long = String(repeating: "x", count: 65_535)
        #expect(throws: BackupError.self) { try ZIPLayout.table(for: [shelf.member(long)]) }
    }

    @Test("any byte range of a random layout is the slice of the whole", arguments: Rounds.seeds(40, oneIn: 8))
    func randomRanges(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let members = try randomMembers(&generator)
        let table = try ZIPLayout.table(for: members)
        let whole = try shelf.materialize(table)
        #expect(UInt64(whole.count) == table.size)
        #expect(try ZIPLayout.archivedSize(of: members) == table.size)
        for _ in 0..<200 {
            let start = UInt64.random(in: 0...table.size, using: &generator)
            let end = UInt64.random(in: start...(table.size + 10), using: &generator)
            let expected = whole[Int(start)..<Int(min(end, table.size))]
            #expect(haveSameBytes(try shelf.materialize(table, start..<end)[...], expected), "\(start)..<\(end)")
        }
        for edge in table.size.advanced(by: -3)...table.size {
            #expect(try shelf.materialize(table, edge..<edge + 1).count == (edge < table.size ? 1 : 0))
        }
        try checkWithPython(members, whole)
    }

    private func randomMembers(_ generator: inout SeededGenerator) throws -> [ArchiveMember] {
        var members: [ArchiveMember] = []
        for number in 0..<Int.random(in: 0...8, using: &generator) {
            var content: [ContentPiece] = []
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                let count = [0, 1, 5, 300, 65_535, 65_536, 140_000].randomElement(using: &generator) ?? 0
                switch Int.random(in: 0..<6, using: &generator) {
                case 0: content.append(.literal(sampleText(count)))
                case 1: content.append(.chunk(shelf.store(generator.noise(count), .raw)))
                case 2: content.append(.chunk(shelf.store(sampleText(count), .deflateAgainstBase)))
                case 3:
                    let source = MemorySource(sampleText(count + 7))
                    content.append(.source(source, offset: 7, length: UInt64(count)))
                default: content.append(.chunk(shelf.store(sampleText(count), .deflate)))
                }
            }
            members.append(try shelf.member("file \(number)", content, time: Int64(number) * 400_000_000))
        }
        return members
    }

    /// Python's reader agrees on every entry's content.
    private func checkWithPython(_ members: [ArchiveMember], _ archive: [UInt8]) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(archive, to: "a.zip")
        let digests = try members.map { member in
            ContentDigest.sha256(try member.content.flatMap { try shelf.plain($0) })
        }
        let output = try python(
            """
            import hashlib, sys, zipfile
            archive = zipfile.ZipFile(sys.argv[1])
            assert archive.testzip() is None
            print(" ".join(hashlib.sha256(archive.read(i)).hexdigest() for i in archive.infolist()), end="")
            """, path)
        #expect(output == digests.joined(separator: " "))
    }
}
