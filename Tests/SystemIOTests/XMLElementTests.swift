import SystemIO
import Testing

/// Documents of servers and cameras; what a server may answer is tested there.
struct XMLElementTests {
    private static let limits = XMLElement.Limits(sizeBytes: 4_096, depth: 4, elementCount: 10, textSizeBytes: 64)

    private func parse(_ text: String) -> XMLElement? { XMLElement.parse(Array(text.utf8), limits: Self.limits) }

    @Test func `names, attributes, texts and children are read`() throws {
        let root = try #require(
            parse("<a xmlns=\"urn:x\" xmlns:b=\"urn:y\"><b:c d=\"1\" e=\"&lt;ü&gt;\">t<f/>u</b:c><f g=''/><f/></a>"))
        #expect(root.name == "a" && root.attributes.isEmpty)
        #expect(root["b:c"]?.attributes == ["d": "1", "e": "<ü>"])
        #expect(root["b:c"]?.text == "tu")
        #expect(root.all("f").map(\.attributes) == [["g": ""], [:]])
    }

    @Test(arguments: [
        "<a><b><c><d><e/></d></c></b></a>", "<a>" + String(repeating: "<b/>", count: 10) + "</a>",
        "<a>" + String(repeating: "x", count: 65) + "</a>", "<a b='" + String(repeating: "x", count: 64) + "'/>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "<a>" + String(repeating: " ", count: 4_096) + "</a>", "<a", "",
    ])
    func `what is over a limit, declares entities or is cut off is refused`(text: String) { #expect(parse(text) == nil) }
}
