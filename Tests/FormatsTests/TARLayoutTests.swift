import BackupCore
import Formats
import SystemIO
import TestSupport
import Testing

@Suite("tar layout: bytes and arithmetic")
struct TARLayoutTests {
    private let shelf = ChunkShelf()

    private func bytes(_ members: ArchiveMember...) throws -> [UInt8] { try shelf.materialize(TARLayout.table(for: members)) }

    private static func zeros(_ count: Int) -> String { String(repeating: "\u{0}", count: count) }

    /// A header block as POSIX draws it, written out field by field.
    private static func block(
        _ name: String, prefix: String = "", mode: String = "0000644", size: String = "00000000000", time: String,
        sum: String, type: String = "0", link: String = ""
    ) -> [UInt8] {
        let text =
            name + zeros(100 - name.utf8.count) + mode + "\u{0}" + "0000000\u{0}" + "0000000\u{0}" + size + "\u{0}" + time
            + "\u{0}" + sum + "\u{0} " + type + link + zeros(100 - link.utf8.count) + "ustar\u{0}00" + zeros(32) + zeros(32)
            + "0000000\u{0}" + "0000000\u{0}" + prefix + zeros(155 - prefix.utf8.count) + zeros(12)
        #expect(text.utf8.count == 512)
        return Array(text.utf8)
    }

    @Test("one small file, every byte")
    func literalBytes() throws {
        // The checksum is the sum of the bytes of these fields, as Python adds them up.
        let expected =
            Self.block("a.txt", size: "00000000006", time: "15130731750", sum: "010223") + Array("hello\n".utf8)
            + [UInt8](repeating: 0, count: 506)
        let archive = try bytes(shelf.member("a.txt", [.literal(Array("hello\n".utf8))]))
        #expect(archive.count == 10_240)
        #expect(archive[..<1024] == expected[...])
        #expect(archive[1024...].allSatisfy { $0 == 0 })
    }

    @Test("an extended header, every byte")
    func extendedHeader() throws {
        let member = ArchiveMember(
            path: Array("é".utf8), mode: 0o100600, modificationTime: Timestamp(seconds: 1_768_141_800, nanoseconds: 120_000_000),
            size: 0, crc32: 0, content: [])
        let archive = try bytes(member)
        let records = "11 path=é\n23 mtime=1768141800.12\n"
        let extended =
            Self.block(
                "././@PaxHeader", size: "00000000042", time: "00000000000", sum: "011467", type: "x")
            + Array(records.utf8) + [UInt8](repeating: 0, count: 512 - 34)
        #expect(archive[..<1024] == extended[...])
        #expect(archive[1024..<1536] == Self.block("é", mode: "0000600", time: "15130731750", sum: "010002")[...])
        #expect(archive.count == 10_240)
    }

    @Test("no members: zeros up to the end of the record")
    func empty() throws {
        #expect(try bytes() == [UInt8](repeating: 0, count: 10_240))
        #expect(try TARLayout.archivedSize(of: []) == 10_240)
    }

    @Test("the end is two blocks of zeros, and full records", arguments: [(8_192, 10_240), (8_704, 10_240), (8_705, 20_480)])
    func end(contentSize: Int, archiveSize: UInt64) throws {
        let member = try shelf.member("x", [.literal([UInt8](repeating: 1, count: contentSize))])
        #expect(try TARLayout.archivedSize(of: [member]) == archiveSize)
        #expect(try TARLayout.table(for: [member]).size == archiveSize)
    }

    @Test("contents stay chunks; what lies between is one source")
    func extents() throws {
        let deflated = shelf.store(sampleText(5_000), .deflate)
        let raw = shelf.store(sampleText(512), .raw)
        let members = [
            try shelf.member("folder/", mode: 0o040755), try shelf.member("empty"),
            try shelf.member("mixed", [.literal([91]), .chunk(deflated), .chunk(raw)]), try shelf.member("raw", [.chunk(raw)]),
            try shelf.member("link", [.literal(Array("mixed".utf8))], mode: 0o120777),
        ]
        var kinds: [String] = []
        for extent in try TARLayout.table(for: members).extents {
            switch extent {
            case .literal(let bytes): kinds.append("literal \(bytes.count)")
            case .plain(_, let offset, let length): kinds.append("plain \(offset) \(length)")
            case .stored: kinds.append("stored")
            case .source(_, let offset, let length): kinds.append("source \(offset) \(length)")
            }
        }
        // 5,513 bytes of content are 119 short of whole blocks; those of "raw" fill one.
        #expect(
            kinds == [
                "source 0 1536", "literal 1", "plain 0 5000", "plain 0 512", "source 1536 631", "plain 0 512", "source 2167 2048",
            ])
    }

    /// Fields of the first member's own header, and the records of its extended one, if there is one.
    private func fields(_ member: ArchiveMember) throws -> (
        name: String, prefix: String, link: String, size: String, records: String
    ) {
        var block = try bytes(member)[...]
        func text(_ range: Range<Int>) -> String {
            String(decoding: block.dropFirst(range.lowerBound).prefix(range.count).prefix { $0 != 0 }, as: UTF8.self)
        }
        var records = ""
        if text(156..<157) == "x" {
            let size = try #require(Int(text(124..<135), radix: 8))
            records = String(decoding: block.dropFirst(512).prefix(size), as: UTF8.self)
            block = block.dropFirst(512 + (size + 511) / 512 * 512)
        }
        return (text(0..<100), text(345..<500), text(157..<257), text(124..<136), records)
    }

    private static func letters(_ count: Int) -> String { String(repeating: "n", count: count) }

    @Test("paths go where they fit: the name, name and prefix, an extended header")
    func paths() throws {
        let n = Self.letters
        for (path, name, prefix) in [
            (n(100), n(100), ""), ("a/" + n(98), "a/" + n(98), ""), ("a/" + n(99), n(99), "a"), ("a/" + n(100), n(100), "a"),
            ("a/b/" + n(98), "b/" + n(98), "a"), (n(155) + "/" + n(99), n(99), n(155)), (n(155) + "/" + n(100), n(100), n(155)),
            (n(99) + "/", n(99) + "/", ""), ("a/" + n(99) + "/", n(99) + "/", "a"),
            ("a\nb\\\u{1} \u{7F}", "a\nb\\\u{1} \u{7F}", ""), ("-r", "-r", ""),
        ] {
            let found = try fields(shelf.member(path))
            #expect(found.name == name && found.prefix == prefix && found.records == "", "\(path)")
        }
        for path in [
            n(101), "a/" + n(101), n(156) + "/" + n(100), n(155) + "/" + n(101), n(156) + "/" + n(10), n(100) + "/",
            "a/" + n(100) + "/", n(200) + "/" + n(50), "é", n(99) + "é",
        ] {
            let found = try fields(shelf.member(path))
            let rest = path.utf8.count + " path=\n".utf8.count
            #expect(found.records == "\(rest + (rest > 97 ? 3 : 2)) path=\(path)\n", "\(path)")
            #expect(path.utf8.starts(with: found.name.utf8.prefix(99)) || path.hasSuffix(found.name))
        }
    }

    /// " path=" and the newline are 7 bytes: 1 and 90 leave space for the digits, one byte more needs another digit.
    @Test("a length counts its own digits", arguments: [(2, 11), (90, 99), (91, 101), (92, 102), (989, 999), (990, 1001)])
    func recordLengths(pathLength: Int, length: Int) throws {
        let path = String(repeating: "x", count: pathLength - 2) + "é"
        let records = try fields(shelf.member(path)).records
        #expect(records.utf8.count == length && records.hasPrefix("\(length) path="))
    }

    @Test("targets of links: 100 bytes fit, 101 do not")
    func targets() throws {
        let n = Self.letters
        func link(_ target: [UInt8]) throws -> (link: String, records: String, size: String) {
            let found = try fields(shelf.member(Array("l".utf8), [.literal(target)], mode: 0o120777))
            return (found.link, found.records, found.size)
        }
        #expect(try link(Array("../a".utf8)) == ("../a", "", "00000000000"))
        #expect(try link(Array(n(100).utf8)) == (n(100), "", "00000000000"))
        #expect(try link(Array(n(101).utf8)) == (n(100), "115 linkpath=\(n(101))\n", "00000000000"))
        #expect(try link(Array("ü".utf8)) == ("ü", "15 linkpath=ü\n", "00000000000"))
        #expect(try link([0xFF]).records == "21 hdrcharset=BINARY\n14 linkpath=\u{FFFD}\n")
    }

    @Test("a path that is not UTF-8 says so before")
    func binaryPaths() throws {
        let records = try fields(shelf.member([0x66, 0xFC, 0x2E, 0x78], [])).records
        #expect(records == "21 hdrcharset=BINARY\n13 path=f\u{FFFD}.x\n")
    }

    @Test("8 GiB - 1 fit into the field, 8 GiB do not")
    func sizes() throws {
        for (size, field, records, archived) in [
            ((1 << 33) - 1, "77777777777", "", 8_589_936_640),
            (1 << 33, "00000000000", "19 size=8589934592\n", 8_589_946_880),
            (1 << 60, "00000000000", "28 size=1152921504606846976\n", 1_152_921_504_606_853_120),
        ] as [(UInt64, String, String, UInt64)] {
            let member = ArchiveMember(
                path: [97], mode: 0o100644, modificationTime: Timestamp(seconds: 0), size: size, crc32: 0,
                content: [.source(ZeroSource(), offset: 0, length: size)])
            let table = try TARLayout.table(for: [member])
            #expect(try TARLayout.archivedSize(of: [member]) == archived && table.size == archived)
            let start = try shelf.materialize(table, 0..<1536)
            #expect(start[156] == UInt8(ascii: records.isEmpty ? "0" : "x"))
            let own = start[(records.isEmpty ? 0 : 1024)...]
            #expect(String(decoding: own.dropFirst(124).prefix(11), as: UTF8.self) == field)
            if !records.isEmpty { #expect(start[512..<512 + records.utf8.count].elementsEqual(records.utf8)) }
        }
    }

    @Test("times: whole seconds since 1970 fit into the field, everything else is exact in an extended header")
    func times() throws {
        func time(_ seconds: Int64, _ nanoseconds: UInt32 = 0) throws -> String {
            try fields(
                ArchiveMember(
                    path: [97], mode: 0o100644, modificationTime: Timestamp(seconds: seconds, nanoseconds: nanoseconds), size: 0,
                    crc32: 0, content: [])
            ).records
        }
        for (seconds, nanoseconds, expected) in [
            (0, 0, ""), (1_768_141_800, 0, ""), (8_589_934_591, 0, ""), (8_589_934_592, 0, "20 mtime=8589934592\n"),
            (0, 1, "21 mtime=0.000000001\n"), (5, 100_000_000, "13 mtime=5.1\n"), (5, 999_999_999, "21 mtime=5.999999999\n"),
            (-1, 0, "12 mtime=-1\n"), (-1, 500_000_000, "14 mtime=-0.5\n"), (-2, 250_000_000, "15 mtime=-1.75\n"),
            (-2, 999_999_999, "22 mtime=-1.000000001\n"), (Int64.max, 999_999_999, "39 mtime=9223372036854775807.999999999\n"),
            (Int64.min, 0, "30 mtime=-9223372036854775808\n"), (Int64.min, 500_000_000, "32 mtime=-9223372036854775807.5\n"),
        ] as [(Int64, UInt32, String)] {
            #expect(try time(seconds, nanoseconds) == expected)
        }
    }

    @Test("members that cannot be archived are refused")
    func refusals() throws {
        let lying = ArchiveMember(
            path: [97], mode: 0o100644, modificationTime: Timestamp(seconds: 0), size: 5, crc32: 0, content: [.literal([1])])
        let chunk = shelf.store([1], .raw)
        #expect(throws: BackupError.self) { try TARLayout.table(for: [lying]) }
        #expect(throws: BackupError.self) { try TARLayout.table(for: [shelf.member("folder/", [.literal([1])])]) }
        #expect(throws: BackupError.self) { try TARLayout.archivedSize(of: [shelf.member("")]) }
        #expect(throws: BackupError.self) { try TARLayout.archivedSize(of: [shelf.member("link", mode: 0o120777)]) }
        #expect(throws: BackupError.self) { try TARLayout.table(for: [shelf.member("link", [.chunk(chunk)], mode: 0o120777)]) }
        // A size is known without the contents.
        #expect(try TARLayout.archivedSize(of: [lying]) == 10_240)
    }

    @Test("any byte range of a random layout is the slice of the whole", arguments: Rounds.seeds(40, oneIn: 8))
    func randomRanges(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let members = try randomMembers(&generator)
        let table = try TARLayout.table(for: members)
        let whole = try shelf.materialize(table)
        #expect(UInt64(whole.count) == table.size && whole.count % 10_240 == 0)
        #expect(try TARLayout.archivedSize(of: members) == table.size)
        for _ in 0..<200 {
            let start = UInt64.random(in: 0...table.size, using: &generator)
            let end = UInt64.random(in: start...(table.size + 10), using: &generator)
            let expected = whole[Int(start)..<Int(min(end, table.size))]
            #expect(haveSameBytes(try shelf.materialize(table, start..<end)[...], expected), "\(start)..<\(end)")
        }
        for _ in 0..<200 {
            let start = UInt64.random(in: 0..<table.size, using: &generator)
            let end = min(table.size, start + UInt64.random(in: 1...1024, using: &generator))
            #expect(try shelf.materialize(table, start..<end)[...] == whole[Int(start)..<Int(end)])
        }
        try checkWithPython(members, whole)
    }

    private func randomMembers(_ generator: inout SeededGenerator) throws -> [ArchiveMember] {
        var members: [ArchiveMember] = []
        for number in 0..<Int.random(in: 0...12, using: &generator) {
            let stem = ["file", "Grüße", "a\nb", String(repeating: "long/", count: 40), String(repeating: "x", count: 250)]
                .randomElement(using: &generator)
            let time = Timestamp(
                seconds: Int64.random(in: -1_000_000...5_000_000_000, using: &generator),
                nanoseconds: [0, 500_000_000].randomElement(using: &generator) ?? 0)
            let path = Array("\(stem ?? "")\(number)".utf8)
            var content: [ContentPiece] = []
            var mode: UInt32 = 0o100640
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: break
            case 1:
                mode = 0o120777
                content = [.literal(Array(String(repeating: "t", count: Int.random(in: 1...200, using: &generator)).utf8))]
            default:
                for _ in 0..<Int.random(in: 0...4, using: &generator) {
                    let count = [0, 1, 5, 511, 512, 513, 1024, 70_000].randomElement(using: &generator) ?? 0
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: content.append(.literal(sampleText(count)))
                    case 1: content.append(.chunk(shelf.store(generator.noise(count), .raw)))
                    case 2: content.append(.source(MemorySource(sampleText(count + 7)), offset: 7, length: UInt64(count)))
                    default: content.append(.chunk(shelf.store(sampleText(count), .deflate)))
                    }
                }
            }
            let plain = try content.flatMap { try shelf.plain($0) }
            members.append(
                ArchiveMember(
                    path: path, mode: mode, modificationTime: time, size: UInt64(plain.count), crc32: 0, content: content))
        }
        return members
    }

    /// Python's reader agrees on every entry.
    private func checkWithPython(_ members: [ArchiveMember], _ archive: [UInt8]) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(archive, to: "a.tar")
        var expected = ""
        for member in members {
            let plain = try member.content.flatMap { try shelf.plain($0) }
            let half = Double(member.modificationTime.nanoseconds) / 1e9
            let content = member.isSymbolicLink ? String(decoding: plain, as: UTF8.self) : ContentDigest.sha256(plain)
            expected +=
                "\(Hexadecimal.encode(member.path)) \(Int64((Double(member.modificationTime.seconds) + half) * 2)) \(content)\n"
        }
        let output = try python(
            """
            import hashlib, sys, tarfile
            archive = tarfile.open(sys.argv[1], "r:", errorlevel=2)
            for entry in archive:
                assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", "")
                content = entry.linkname if entry.issym() else hashlib.sha256(archive.extractfile(entry).read()).hexdigest()
                print(entry.name.encode("utf-8", "surrogateescape").hex(), int(entry.mtime * 2), content)
            """, path)
        #expect(output == expected)
    }

    @Test("the table of 100,000 files is two extents for each, and no list of headers")
    func manyFiles() throws {
        let chunk = shelf.store(sampleText(2_000), .raw)
        var members: [ArchiveMember] = []
        for number in 0..<100_000 {
            members.append(
                ArchiveMember(
                    path: Array("media/2024/IMG_\(number).jpg".utf8), mode: 0o100644,
                    modificationTime: Timestamp(seconds: 1_700_000_000, nanoseconds: UInt32(number)), size: 2_000, crc32: 0,
                    content: [.chunk(chunk)]))
        }
        let table = try TARLayout.table(for: members)
        #expect(table.count == 200_001)
        let sources = Set(
            table.extents.compactMap { extent -> ObjectIdentifier? in
                if case .source(let source, _, _) = extent { return ObjectIdentifier(source) }
                return nil
            })
        #expect(sources.count == 1)
        #expect(try shelf.materialize(table, table.size - 10_240..<table.size).suffix(1024).allSatisfy { $0 == 0 })
    }

    @Test("the same members give the same bytes in every version of this program")
    func stableBytes() throws {
        let text = shelf.store(sampleText(66_000), .raw)
        let long = String(repeating: "folder/", count: 30)
        let archive = try bytes(
            shelf.member("folder/", mode: 0o040700), shelf.member("folder/ä", [.chunk(text), .literal([0])]),
            shelf.member([0xFF], [.chunk(text)]), shelf.member("old", [.literal([1])], time: -5),
            shelf.member(long + "split", [.literal([2])]), shelf.member(long + long, mode: 0o040755),
            shelf.member("link", [.literal(Array("folder/ä".utf8))], mode: 0o120777))
        #expect(ContentDigest.sha256(archive) == "7e603797df935d08d671f519e88bd3af533a82d2a5c6357b96af92c78b9e09a4")
    }
}
