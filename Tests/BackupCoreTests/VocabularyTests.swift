import Testing

@testable import BackupCore

/// Digests, hexadecimal digits, names, times and errors: the words every other target uses.
struct VocabularyTests {
    @Test(
        arguments: [
            ([], ""), ([0], "00"), ([0x0F, 0xF0], "0ff0"), ([0xDE, 0xAD, 0xBE, 0xEF], "deadbeef"), ([255], "ff"),
        ] as [([UInt8], String)])
    func `hexadecimal digits`(bytes: [UInt8], text: String) {
        #expect(Hexadecimal.encode(bytes) == text)
        #expect(Hexadecimal.decode(text.utf8) == bytes)
        #expect(Hexadecimal.decode(text.uppercased().utf8) == bytes)
    }

    @Test(arguments: ["0", "000", "0g", "g0", " 0", "0x", "-1", "+1", "é", "00 "])
    func `what is not hexadecimal is refused`(text: String) {
        #expect(Hexadecimal.decode(text.utf8) == nil)
    }

    @Test func `digests have exactly their length`() {
        #expect((MD5Digest.byteCount, SHA1Digest.byteCount, SHA256Digest.byteCount) == (16, 20, 32))
        for count in [0, 15, 17, 20, 32] { #expect(MD5Digest(bytes: [UInt8](repeating: 1, count: count)) == nil) }
        for count in [19, 21, 16] { #expect(SHA1Digest(bytes: [UInt8](repeating: 1, count: count)) == nil) }
        for count in [31, 33, 64] { #expect(SHA256Digest(bytes: [UInt8](repeating: 1, count: count)) == nil) }
        let text = String(repeating: "0123456789abcdef", count: 4)
        #expect(SHA256Digest(hexadecimal: text)?.hexadecimal == text)
        #expect(SHA256Digest(hexadecimal: text.uppercased())?.description == text)
        #expect(SHA256Digest(hexadecimal: text.dropLast()) == nil)
        #expect(SHA256Digest(hexadecimal: text + "00") == nil)
        #expect(ChunkID(hexadecimal: text)?.hexadecimal == text)
        #expect(PackID(hexadecimal: "xyz") == nil)
        #expect(SnapshotID(hexadecimal: "") == nil)
    }

    @Test func `digests are compared byte by byte, the last as well as the first`() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        var last = zero
        last[31] = 1
        var first = zero
        first[0] = 1
        let digests = try [zero, last, first].map { try #require(SHA256Digest(bytes: $0)) }
        #expect(digests[0] != digests[1])
        #expect(digests[0] != digests[2])
        #expect(digests.sorted() == digests)
        #expect(digests.shuffled().sorted() == digests)
        #expect(Set(digests + digests).count == 3)
        #expect(ChunkID(digests[1]) < ChunkID(digests[2]))
    }

    @Test func `a CRC-32 is written most significant digit first`() throws {
        let sums = Checksums(
            crc32: 0x0000_12AF, md5: try #require(MD5Digest(bytes: [UInt8](repeating: 0, count: 16))),
            sha1: try #require(SHA1Digest(bytes: [UInt8](repeating: 0, count: 20))),
            sha256: try #require(SHA256Digest(bytes: [UInt8](repeating: 0, count: 32))))
        #expect(sums.crc32Hexadecimal == "000012af")
    }

    @Test(arguments: [
        ("a", true), ("..a", true), ("...", true), (" ", true), ("a\nb", true), ("ä", true), ("~", true), ("", false),
        (".", false),
        ("..", false), ("a/b", false), ("/", false), ("a\0b", false),
    ])
    func `names that can be one component of a path`(name: String, isSafe: Bool) {
        #expect(FileName(name).isSafeComponent == isSafe)
    }

    @Test func `names are bytes: never normalised, never longer than 255`() {
        #expect(FileName("é") != FileName("e\u{301}"))
        #expect(FileName(bytes: Array("a".utf8)) == "a")
        #expect(FileName(bytes: [0xFF, 0xFE]).isSafeComponent)
        #expect(FileName(bytes: [0xFF]).description == "\u{FFFD}")
        #expect(FileName(bytes: [UInt8](repeating: 97, count: 255)).isSafeComponent)
        #expect(!FileName(bytes: [UInt8](repeating: 97, count: 256)).isSafeComponent)
        #expect([FileName("b"), "a\u{301}", "B", "á"].sorted() == ["B", "a\u{301}", "b", "á"])
    }

    @Test func `times before 1970 are ordered`() {
        let times = [
            Timestamp(seconds: -2, nanoseconds: 999_999_999), Timestamp(seconds: -1), Timestamp(seconds: -1, nanoseconds: 1),
            Timestamp(seconds: 0),
        ]
        #expect(times.shuffled().sorted() == times)
        #expect(times[2].wholeSeconds == times[1])
    }

    @Test func `progress is a percentage once the total is known`() {
        #expect(OperationProgress(phase: "x").percent == nil)
        #expect(OperationProgress(phase: "x", processedItems: 1, totalItems: 3).percent == 33)
        #expect(OperationProgress(phase: "x", processedItems: 9, totalItems: 3).percent == 100)
    }

    @Test(arguments: [
        (["a.json", "b.json"], ["a.json", "b.json"]), (["a.json", "a.json", "a.json"], ["a.json", "a_2.json", "a_3.json"]),
        (["a", "a"], ["a", "a_2"]), (["a.tar.gz", "a.tar.gz"], ["a.tar.gz", "a.tar_2.gz"]),
        (["a.json", "a.json", "a_2.json"], ["a.json", "a_2.json", "a_2_2.json"]), ([], []),
    ])
    func `names that clash get a number, the oldest keeps its own`(names: [String], expected: [String]) {
        #expect(UniqueFileNames.make(names) == expected)
    }

    @Test func `an error says what happened, to which file, and what to do next`() {
        let error = BackupError(.noSpace, "could not write: No space left on device", path: "/a/b", remedy: "Free some space.")
        #expect(error.description == "/a/b: could not write: No space left on device. Free some space.")
        #expect(BackupError(.busy, "it runs.", remedy: "Wait.").description == "it runs. Wait.")
        #expect(BackupError(.busy, "it runs").description == "it runs")
        #expect(BackupError(.busy, "it runs").at("/x").description == "/x: it runs")
        #expect(error.at("/x").path == "/a/b")
        let found = BackupError(.invalidContent, "one", findings: ["one", "two"]).at("/x")
        #expect(found.findings == ["one", "two"])
        #expect(found.code == .invalidContent)
    }
}

@Suite("Paths of bytes")
struct BytePathTests {
    @Test func `a path comes apart and together again`() {
        for (path, folder, name) in [("a", "", "a"), ("a/b", "a", "b"), ("a/b/c.jpg", "a/b", "c.jpg"), ("", "", "")] {
            #expect(BytePath.folder(of: Array(path.utf8)) == Array(folder.utf8))
            #expect(BytePath.lastComponent(of: Array(path.utf8)) == Array(name.utf8))
            #expect(BytePath.join(Array(folder.utf8), Array(name.utf8)) == Array(path.utf8))
        }
        #expect(BytePath.components(of: Array("a/b/c".utf8)) == ["a", "b", "c"])
        #expect(BytePath.components(of: [0x61, 0x2F, 0xFF]) == ["a", FileName(bytes: [0xFF])])
        #expect(BytePath.components(of: []) == [])
    }
}
