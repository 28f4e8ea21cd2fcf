import BackupCore
import Foundation
import TestSupport
import Testing

@testable import Formats

/// Finding one record of a collection by its key.
struct RecordSearchTests {
    /// A source that counts what is read of it.
    private final class Counted: ByteSource, @unchecked Sendable {
        private let source: BytesSource
        /// For one thread.
        private(set) var byteCount = 0

        init(_ bytes: [UInt8]) { source = BytesSource(bytes) }

        func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) throws(BackupError) -> Int {
            let count = try source.read(at: offset, into: buffer)
            byteCount += count
            return count
        }
    }

    /// As `WireWriter` writes it.
    private static func collection(_ records: [String]) -> [UInt8] {
        guard !records.isEmpty else { return Array("[]".utf8) }
        return Array(("[\n    " + records.joined(separator: ",\n    ") + "\n  ]").utf8)
    }

    private static func record(_ key: String, _ text: String) -> String {
        "{\n      \"note\": \"\(text)\",\n      \"id\": \(key),\n      \"deep\": {\n        \"id\": 1\n      }\n    }"
    }

    /// Compares with Foundation's reader, for records of all lengths.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `every record of a generated collection is found, and no other`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let isText = seed % 2 == 0
        let count = [0, 1, 5, 300, 2_000].randomElement(using: &random) ?? 5
        var numbers: Set<Int64> = seed % 5 == 0 && count > 1 ? [.min, .max] : []
        while numbers.count < count { numbers.insert(Int64.random(in: -5_000...5_000, using: &random)) }
        // Texts with the separator of records and with braces; a line feed is always escaped.
        let texts = ["", "\\n    {", "},\\n    {\\\"id\\\": 3", "ü\\u0000", String(repeating: "long ", count: 9_000)]
        let keys: [JSONKey] =
            isText
            ? numbers.map { .text(Array("k\($0)ä".utf8)) }.sorted() : numbers.map { .integer($0) }.sorted()
        let records = keys.map { key in
            let name = if case .text = key { "\"\(key)\"" } else { "\(key)" }
            let isLong = Int.random(in: 0..<200, using: &random) == 0
            return Self.record(name, isLong ? texts[4] : texts[Int.random(in: 0..<4, using: &random)])
        }
        let bytes = Self.collection(records)
        let search = RecordSearch(BytesSource(bytes), sizeBytes: UInt64(bytes.count), key: "id")
        for (key, text) in zip(keys, records) {
            let found = try #require(try search.find(key), "\(key)")
            #expect(bytes[Int(found.range.lowerBound)..<Int(found.range.upperBound)].elementsEqual(text.utf8), "\(key)")
        }
        let present = Set(keys)
        for number in Int64(-5_010)...(-4_900) {
            for key in [JSONKey.integer(number), .text(Array("k\(number)ä".utf8))] where !present.contains(key) {
                #expect(try search.find(key) == nil, "\(key)")
            }
        }
        #expect(try search.keys(limit: .max).keys == keys)
        let few = try search.keys(limit: 5)
        #expect(few.keys == Array(keys.prefix(5)) && few.areAll == (keys.count <= 5))
    }

    @Test func `little of a long collection is read`() throws {
        let bytes = Self.collection((0..<100_000).map { Self.record("\($0)", "text \($0)") })
        let source = Counted(bytes)
        let search = RecordSearch(source, sizeBytes: UInt64(bytes.count), key: "id")
        #expect(try search.find(.integer(77_777)) != nil)
        #expect(source.byteCount < bytes.count / 10)
    }

    @Test func `white space makes no other record, and the order of members does`() throws {
        func content(_ text: String) throws -> [UInt8]? {
            try RecordSearch(BytesSource(Array(text.utf8)), sizeBytes: UInt64(text.utf8.count), key: "id").find(.integer(1))?
                .content
        }
        let plain = try #require(try content(#"[{"id":1,"a":"é"}]"#))
        #expect(try content("[ {\"id\" : 1 , \"a\":\"\\u00e9\"} ]") == plain)
        #expect(try content(#"[{"a":"é","id":1}]"#) != plain)
        #expect(try content(#"[{"id":2,"a":"é"}]"#) == nil)
        #expect(
            RecordDetails.changes(from: plain, to: try #require(try content(#"[{"id":1,"a":"e","b":[1,{}]}]"#))).map {
                "\($0.text)"
            } == [#"a: "é" → "e""#, "b: nothing → [1,{}]"])
    }

    @Test func `a collection in another order or form is read whole`() throws {
        let keys = [3, 1, 2] + Array(4..<3_000)
        let bytes = Self.collection(keys.reversed().map { Self.record("\($0)", "some text") })
        let search = RecordSearch(BytesSource(bytes), sizeBytes: UInt64(bytes.count), key: "id")
        for key in [1, 2, 3, 1_500, 2_999] { #expect(try search.find(.integer(Int64(key))) != nil, "\(key)") }
        let compact = Array("[\((0..<3_000).map { "{\"id\":\($0),\"note\":\"x\"}" }.joined(separator: ","))]".utf8)
        let other = RecordSearch(BytesSource(compact), sizeBytes: UInt64(compact.count), key: "id")
        for key in [0, 1_500, 2_999] { #expect(try other.find(.integer(Int64(key))) != nil, "\(key)") }
        #expect(try other.find(.integer(3_000)) == nil)
    }

    /// SQLite puts NULL first and sorts numbers of both kinds together.
    @Test func `records without a usable key are passed over`() throws {
        var records: [String] = (0..<700).map { Self.record("null", "none \($0)") }
        for number in 0..<2_000 {
            records.append(Self.record("\(number)", "text"))
            if number % 3 == 0 { records.append(Self.record("\(number).5", "real")) }
        }
        records += (0..<900).map { Self.record("\"k\(1_000 + $0)\"", "text") }
        let bytes = Self.collection(records)
        let search = RecordSearch(BytesSource(bytes), sizeBytes: UInt64(bytes.count), key: "id")
        for number in 0..<2_000 { #expect(try search.find(.integer(Int64(number))) != nil, "\(number)") }
        for number in 1_000..<1_900 { #expect(try search.find(.text(Array("k\(number)".utf8))) != nil, "\(number)") }
        #expect(try search.find(.integer(2_000)) == nil)
        #expect(try search.find(.text([])) == nil)
        #expect(try search.keys(limit: .max).keys.count == 2_900)
    }

    @Test func `what is no collection is damaged`() throws {
        for text in ["{}", "[1]", "[{\"id\":1}", ""] {
            let search = RecordSearch(BytesSource(Array(text.utf8)), sizeBytes: UInt64(text.utf8.count), key: "id")
            #expect(errorCode { _ = try search.find(.integer(9)) } == .damagedContent, "\(text)")
        }
    }

    @Test func `a part of a source between two texts`() throws {
        let source = EnclosedSource("<", BytesSource(Array("0123456789".utf8)), from: 2, to: 6, ">!")
        #expect(try source.bytes(at: 0, upTo: 100) == Array("<2345>!".utf8))
        for start in 0...8 {
            let expected = Array("<2345>!".utf8.dropFirst(start).prefix(3))
            #expect(try source.bytes(at: UInt64(start), upTo: 3) == expected)
        }
    }
}

/// The form of the files in `history/`.
struct RecordFileTests {
    @Test func `the text around a record, literally`() throws {
        let (before, after) = RecordFile.text(around: "ex\"p", app: "demo", schemaVersion: 3, inexactValueCount: 0)
        let record = "{\n      \"id\": 1\n    }"
        let text = before + Array(record.utf8) + after
        #expect(
            String(decoding: text, as: UTF8.self) == """
                {
                  "app": "demo",
                  "collection": "ex\\"p",
                  "schemaVersion": 3,
                  "records": [
                    {
                      "id": 1
                    }
                  ]
                }

                """)
        let file = try #require(try RecordFile(BytesSource(text)))
        #expect(file.app == "demo" && file.collection == "ex\"p" && file.schemaVersion == 3 && file.inexactValueCount == 0)
        let export = file.export(of: BytesSource(text))
        let object = try JSONSerialization.jsonObject(with: Data(export.bytes(at: 0, upTo: 10_000))) as? [String: [[String: Int]]]
        #expect(object == ["ex\"p": [["id": 1]]])
    }

    @Test(arguments: [
        #"{"collection":"a","records":[]}"#, #" { "records" : [{}], "schemaVersion": 2, "collection":"a"} "#,
        #"{"records":[],"collection":"a"}"#,
    ])
    func `the members come in any order`(text: String) throws {
        let file = try #require(try RecordFile(BytesSource(Array(text.utf8))))
        #expect(file.collection == "a" && file.schemaVersion == (text.contains("2") ? 2 : nil))
        let export = try file.export(of: BytesSource(Array(text.utf8))).bytes(at: 0, upTo: 100)
        #expect(String(decoding: export, as: UTF8.self) == (text.contains("{}") ? #"{"a":[{}]}"# : #"{"a":[]}"#))
    }

    @Test(arguments: [
        #" { "records" : 1, "collection":"a"}"#, #"{"collection":1,"records":[]}"#, #"{"collection":"a","records":{}}"#, "[]",
        "{",
        "", "SQLite format 3", #"{"metadata":{"schemaVersion":9},"cars":[]}"#, #"{"collection":"a","schemaVersion":1}"#,
        #"{"cars":[],"collection":"a","records":[]}"#,
    ])
    func `another file is none`(text: String) throws {
        #expect(try RecordFile(BytesSource(Array(text.utf8))) == nil)
        #expect(try RecordFile.arrayRange(of: BytesSource(Array(text.utf8))) == (text == "[]" ? 0..<2 : nil))
    }

    @Test(arguments: [
        #"{"collection":"a","other":1,"records":[]}"#, #"{"collection":"a","records":[],"cars":[]}"#,
        #"{"collection":"a","schemaVersion":1.5,"records":[]}"#, #"{"collection":"a","records":[],"records":[]}"#,
        #"{"collection":"a","schemaVersion":99999999999999999999,"records":[]}"#, #"{"collection":"a","records":[]"#,
        #"{"collection":"a","records":[]},"b":[]}"#, #"{"collection":"a","records":[]}]"#,
    ])
    func `a file with more than its own form is refused`(text: String) {
        #expect(errorCode { _ = try RecordFile(BytesSource(Array(text.utf8))) } == .invalidContent)
    }

    @Test func `an array is the export of its collection`() throws {
        let text = Array("\u{FEFF} [{\"id\":1}] ".utf8)
        let range = try #require(try RecordFile.arrayRange(of: BytesSource(text)))
        let export = RecordFile(arrayOf: "cars", at: range).export(of: BytesSource(text))
        #expect(try export.bytes(at: 0, upTo: 100) == Array("{\"cars\":[{\"id\":1}]}".utf8))
        #expect(try RecordFile.arrayRange(of: BytesSource(Array("[],\"cars\":[]".utf8))) == nil)
        #expect(try RecordFile.arrayRange(of: BytesSource(Array("[1".utf8))) == nil)
    }
}
