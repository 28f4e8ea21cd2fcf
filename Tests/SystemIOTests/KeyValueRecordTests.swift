import BackupCore
import TestSupport
import Testing

@testable import SystemIO

struct KeyValueRecordTests {
    @Test
    func `lines stand in the order in which they were appended, and those without a value are left out`() {
        var record = KeyValueRecord(magic: "backupfs-test")
        record.append("word", "a: b")
        record.append("number", UInt64.max)
        record.append("flag", false)
        record.append("time", Timestamp(seconds: 1_768_141_800))
        record.append("missing", nil as String?)
        #expect(
            String(decoding: record.encoded, as: UTF8.self) == """
                backupfs-test
                word: a: b
                number: 18446744073709551615
                flag: no
                time: 2026-01-11T14:30:00Z

                """)
        let read = KeyValueRecord(decoding: record.encoded, magic: "backupfs-test")
        #expect(read.flaws.isEmpty)
        #expect(read["word"] == "a: b")
        #expect(read.number("number") == UInt64.max)
        #expect(read.number("number") as Int? == nil)
        #expect(read.flag("flag") == false)
        #expect(read.flag("word") == nil)
        #expect(read.time("time") == Timestamp(seconds: 1_768_141_800))
        #expect(read["missing"] == nil)
    }

    @Test(
        arguments: [
            ("m\nk: v\n", []), ("", [.cutOff, .foreign]), ("m\nk: v", [.cutOff]), ("n\nk: v\n", [.foreign]),
            ("m\n\nk: v\n", [.emptyLine]),
            ("\nm\nk: v\n", [.emptyLine]), ("m\nk\n", [.noPair]), ("m\nk:v\n", [.noSpace]), ("m\nk: v\nk: w\n", [.repeated]),
            ("m\r\nk: v\r\n", [.cutOff, .foreign]),
        ] as [(String, [KeyValueRecord.Flaw])])
    func `flaws are reported in their order`(text: String, flaws: [KeyValueRecord.Flaw]) {
        #expect(KeyValueRecord(decoding: Array(text.utf8), magic: "m").flaws == flaws)
    }

    @Test
    func `invalid UTF-8 is a flaw, and the other values can be read`() {
        let record = KeyValueRecord(decoding: Array("a: ".utf8) + [0xFF] + Array("\nb: 2\n".utf8))
        #expect(record.flaws == [.notText])
        #expect(record.number("b") == 2)
    }

    @Test
    func `one space before a value is not part of it, or none of them`() {
        let bytes = Array("path:  my folder\n".utf8)
        #expect(KeyValueRecord(decoding: bytes)["path"] == " my folder")
        #expect(KeyValueRecord(decoding: bytes, dropsSpaces: true)["path"] == "my folder")
    }

    @Test
    func `of repeated keys the last counts, and a taken value is gone`() {
        var record = KeyValueRecord(decoding: Array("k: v\nk: w\nj: u\n".utf8))
        #expect(record.take("k") == "w")
        #expect(record.take("k") == nil)
        #expect(record.firstKey == "j")
    }
}
