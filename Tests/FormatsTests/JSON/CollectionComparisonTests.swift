import BackupCore
import Formats
import TestSupport
import Testing

@Suite("What changed in a collection")
struct CollectionComparisonTests {
    private func compare(_ old: String?, _ new: String, key: String = "id") throws -> CollectionComparison {
        guard let old else { return try CollectionComparison.adding(MemorySource(new), key: key) }
        return try CollectionComparison.compare(old: MemorySource(old, pieceSize: 100), new: MemorySource(new), key: key)
    }

    private func text(_ changes: CollectionComparison.Changes) -> String {
        "\(changes.count): \(changes.keys.map(\.description).joined(separator: " "))"
    }

    @Test("added, changed and removed, side by side")
    func merge() throws {
        let old = #"[{"id": 1, "a": "x"}, {"id": 2, "a": 1}, {"id": 4, "a": null}, {"id": 10}]"#
        let new = #"[{"id": -7}, {"id": 1, "a": "x"}, {"id": 2, "a": 1.0}, {"id": 9}, {"id": 10, "b": []}, {"id": 11}]"#
        let result = try compare(old, new)
        #expect(text(result.added) == "3: -7 9 11")
        #expect(text(result.changed) == "2: 2 10")
        #expect(text(result.removed) == "1: 4")
    }

    @Test("white space and ways of escaping are no change, order of members is")
    func equality() throws {
        let same = try compare(#"[{"id":1,"t":"é\/\n"}]"#, "[\n  { \"id\" : 1 , \"t\" : \"\\u00e9/\\u000a\" }\n]\n")
        #expect(same == CollectionComparison())
        #expect(try compare(#"[{"id":1,"t":2}]"#, #"[{"t":2,"id":1}]"#).changed.count == 1)
        #expect(try compare("[{\"id\":1,\"t\":\"\u{E9}\"}]", "[{\"id\":1,\"t\":\"e\u{301}\"}]").changed.count == 1)
        #expect(try compare(#"[{"id":1,"a":"b","c":""}]"#, #"[{"id":1,"a":"","c":"b"}]"#).changed.count == 1)
        #expect(try compare(#"[{"id":1,"a":"1"}]"#, #"[{"id":1,"a":1}]"#).changed.count == 1)
    }

    @Test("texts as keys, in the order of their bytes")
    func texts() throws {
        let result = try compare(#"[{"id":"B"},{"id":"a"},{"id":"é"}]"#, #"[{"id":"B","x":1},{"id":"b"},{"id":"é"}]"#)
        #expect(text(result.added) == "1: b")
        #expect(text(result.changed) == "1: B")
        #expect(text(result.removed) == "1: a")
    }

    @Test("nothing before means that all is added; empty on either side")
    func empty() throws {
        #expect(text(try compare(nil, #"[{"id":1},{"id":2}]"#).added) == "2: 1 2")
        #expect(text(try compare(#"[{"id":1},{"id":2}]"#, "[]").removed) == "2: 1 2")
        #expect(try compare("[]", "[]") == CollectionComparison())
    }

    @Test("the order of the records makes no difference")
    func unsorted() throws {
        let result = try compare(#"[{"id":3},{"id":1,"a":1},{"id":2}]"#, #"[{"id":2},{"id":9},{"id":1,"a":2},{"id":4}]"#)
        #expect(text(result.added) == "2: 9 4")
        #expect(text(result.changed) == "1: 1")
        #expect(text(result.removed) == "1: 3")
    }

    @Test("counts are exact, keys the first ten thousand")
    func limit() throws {
        let array = { (range: ClosedRange<Int>) in "[\(range.map { "{\"id\":\($0)}" }.joined(separator: ","))]" }
        let result = try compare(array(1...25_000), array(20_001...45_000))
        #expect(result.removed.count == 20_000)
        #expect(result.removed.keys.count == 10_000)
        #expect(result.removed.keys.last == .integer(10_000))
        #expect(result.added.count == 20_000)
        #expect(result.added.keys.first == .integer(25_001))
        #expect(result.changed.count == 0)
    }

    @Test("where nothing is compared with, a known count spares reading on")
    func knownCount() throws {
        let array = "[\((1...30_000).map { "{\"id\":\($0)}" }.joined(separator: ","))"
        // The end of the array is missing: a reader that gets that far fails.
        let result = try CollectionComparison.adding(MemorySource(array), key: "id", count: 30_000)
        #expect(result.added.count == 30_000)
        #expect(result.added.keys.count == 10_000)
        #expect(result.added.keys.last == .integer(10_000))
    }

    @Test(
        "what is no collection is told as damaged",
        arguments: [
            "{}", "[1]", "[{\"a\":1}]", "[{\"id\":1}", "[{\"id\":1.5}]", "[{\"id\":null}]", "[{\"id\":1},{\"id\":1}]", "", "[]x",
        ])
    func damaged(_ text: String) throws {
        let error = try #require(throws: BackupError.self) { try compare("[]", text) }
        #expect(error.code == .damagedContent)
        let other = try #require(throws: BackupError.self) { try compare(text, "[]") }
        #expect(other.code == .damagedContent)
    }
}
