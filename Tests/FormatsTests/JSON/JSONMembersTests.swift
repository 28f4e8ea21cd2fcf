import BackupCore
import Formats
import TestSupport
import Testing

/// Small documents of this program, written and read back.
struct JSONMembersTests {
    private enum Word: String { case first, second }

    @Test
    func `a document that was written is read back`() {
        let time = Timestamp(seconds: 1_768_141_800)
        let document: OrderedJSON = [
            "text": "\"a\\ü\n\u{1}", "word": "second", "number": UInt64(7), "negative": -7, "decimal": OrderedJSON.decimal("1.5"),
            "yes": true, "no": false, "time": time, "missing": nil as String?,
        ]
        for text in [document.prettyText, document.compactText] {
            let members = JSONMembers(text)
            #expect(members.isFlat)
            #expect(members.text("text") == "\"a\\ü\n\u{1}")
            #expect(members.word("word") == Word.second)
            #expect(members.number("number") == UInt64(7))
            #expect(members.number("negative") == Int64(-7))
            #expect(members.number("negative") as UInt64? == nil)
            #expect(members.number("decimal") == 1.5)
            #expect(members.flag("yes"))
            #expect(!members.flag("no"))
            #expect(members.time("time") == time)
            #expect(members.text("missing") == nil)
        }
    }

    @Test
    func `values of another kind are missing`() {
        let members = JSONMembers(#"{"a":"1","b":1,"c":"true"}"#.utf8)
        #expect(members.number("a") as Int? == nil)
        #expect(members.text("b") == nil)
        #expect(!members.flag("c"))
        #expect(members.word("a") as Word? == nil)
    }

    @Test(arguments: [
        #"{"a":1,"b":{"c":2}}"#, #"{"a":1,"b":[2]}"#, #"{"a":1,"b""#, #"{"a":1} 2"#, #"{"a":1,}"#, #"{"a":1,"a":2}"#,
    ])
    func `what stands before something unexpected is read, and the text is not flat`(text: String) {
        let members = JSONMembers(text.utf8)
        #expect(!members.isFlat)
        #expect(members.number("a") == 1)
        #expect(members.text("c") == nil)
    }

    @Test(arguments: ["", "[1]", "7", "null", "{"])
    func `anything else has no members`(text: String) {
        let members = JSONMembers(text.utf8)
        #expect(!members.isFlat)
        #expect(members.number("a") as Int? == nil)
    }

    @Test
    func `a document has the order of its literal, and nulls`() {
        let document: OrderedJSON = ["z": 1, "a": nil as Int?, "list": ["x", "y"], "object": ["b": true] as OrderedJSON]
        #expect(
            String(decoding: document.adding(["end": UInt64.max]).compactText, as: UTF8.self)
                == #"{"z":1,"a":null,"list":["x","y"],"object":{"b":true},"end":9223372036854775807}"#)
    }
}
